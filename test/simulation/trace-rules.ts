import type { Collector } from "#shared/traces/collector.ts";
import { acceptSpanIdOf } from "#shared/traces/trace-context.ts";
import { attributeOf, readSpans, type ReadSpan } from "#test/support/collector.ts";
import type { RowVersion } from "./ledger.ts";
import type { Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** Creates the collector of the simulated world, which fails now and then in a storm, also after it has taken what was sent. */
export function createSimulatedCollector(
  world: World,
  isStormy: () => boolean,
): { collector: Collector; taken: string[] } {
  const taken: string[] = [];
  const collector: Collector = {
    async post(signal, json) {
      await world.wait(world.between(5, 1_000), "a collector");
      const isLost = isStormy() && world.chance(0.2);
      if (signal === "traces" && !(isLost && world.chance(0.5))) taken.push(json);
      return isLost ? "TimeoutError" : undefined;
    },
  };
  return { collector, taken };
}

/**
 * Checks that no span was made twice, that each is of the trace of its call, and that spans tell of what was written. A
 * delivered event that was not written down is delivered again, and its span repeated; a restore loses first rows, which
 * are then written again.
 */
export function traceViolations({
  exported,
  rows,
  scenario: { traces, restore },
}: {
  exported: readonly string[];
  rows: readonly RowVersion[];
  scenario: Pick<Scenario, "traces" | "restore">;
}): string[] {
  const spans = exported.flatMap(readSpans);
  if (traces !== true) return spans.length === 0 ? [] : ["traced: without traces in the plan"];
  const traceOf = new Map<string, unknown>();
  for (const { id, json } of rows) {
    const row: { traceparent?: string } = JSON.parse(json);
    traceOf.set(id, row.traceparent);
  }
  const mayRepeat = ({ name }: ReadSpan) =>
    name === "deliver" || (name === "accept" && restore !== undefined);
  const seen = new Set<string>();
  return spans.flatMap((span) => {
    const { name, traceId, spanId } = span;
    const call = attributeOf(span, "call_id") ?? "";
    const doubled = seen.has(spanId) && !mayRepeat(span) ? [`doubled: ${name} of ${call}`] : [];
    seen.add(spanId);
    // Nobody sends a header here, so that the parent of all spans is the span of the acceptance.
    const parent = span.parentSpanId ?? acceptSpanIdOf(attributeOf(span, "request_id") ?? "");
    const known = traceOf.get(call);
    const isOwn = known === undefined || known === `00-${traceId}-${parent}-01`;
    return [...doubled, ...(isOwn ? [] : [`another trace: ${name} of ${call}`])];
  });
}
