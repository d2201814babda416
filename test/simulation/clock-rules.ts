import type { Call } from "#shared/calls/call-request.ts";
import type { DocumentVersion } from "./documents.ts";
import type { Requested } from "./placement.ts";
import type { Scenario } from "./scenario.ts";

/** Maximum time for which work stands still once clocks are right again: two starts by the clock, and some seconds. */
const stillMsMax = 180_000;

/** The events of a run beside processes an hour ahead and behind. */
interface Opposed {
  scenario: Pick<Scenario, "opposedSeconds">;
  startAt: number;
  calls: readonly Pick<Call, "id" | "acceptedAt">[];
  requests: readonly Pick<Requested, "id" | "at">[];
  documents: readonly DocumentVersion[];
}

/**
 * A process whose clock is an hour ahead takes leases that last for an hour. Returns work that stood still for one, in a
 * scenario in which nothing else goes wrong.
 */
export function clockViolations({
  scenario: { opposedSeconds },
  startAt,
  calls,
  requests,
  documents,
}: Opposed): string[] {
  if (opposedSeconds === undefined) return [];
  const rightAt = startAt + opposedSeconds * 1000;
  const firstAt = new Map(requests.toReversed().map(({ id, at }) => [id, at]));
  const late = calls.filter(
    ({ id, acceptedAt }) =>
      (firstAt.get(id) ?? Infinity) > Math.max(acceptedAt, rightAt) + stillMsMax,
  );
  const kinds = (["sweep", "upkeep"] as const).filter(
    (kind) =>
      !documents.some(
        (one) => one.kind === kind && one.at >= rightAt && one.at <= rightAt + stillMsMax,
      ),
  );
  return [
    ...late.map(({ id }) => `late beside a wrong clock: ${id}`),
    ...kinds.map((kind) => `no ${kind} beside a wrong clock`),
  ];
}
