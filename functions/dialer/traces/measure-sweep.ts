import { backlogOfKey } from "#shared/calls/call-row.ts";
import { resultStatuses } from "#shared/calls/call-result.ts";
import { isTestClient } from "#shared/calls/ids.ts";
import { callStates } from "#shared/calls/states.ts";
import { errorForLog, type LogFields } from "#shared/lib/log.ts";
import { hourMs } from "#shared/lib/units.ts";
import { hourPrefixOf, parseUsageKey, usageCounters } from "#shared/policy/usage.ts";
import { skipUnreadable } from "#shared/ports/found-documents.ts";
import type { Collector } from "#shared/traces/collector.ts";
import { encodeMetrics, type Metric, toGauge, toSum, toTimes } from "#shared/traces/otlp.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { countOf, sumOf, type Timed } from "./times.ts";
import type { TracedInvocation } from "./trace-invocation.ts";
import { withMethods } from "#shared/lib/with-methods.ts";

/** Documents of usage of an hour that are read. */
const usageMax = 5_000;
/** Backlogs whose waiting calls are counted, calls of each, and calls in all: beyond them the figures stand still. */
const backlogsMax = 50;
const eachMax = 20;
const waitingMax = 200;

type MetricDeps = Pick<DialerDeps, "ledger" | "documents" | "clock" | "log">;

/**
 * Wraps the dependencies of a sweep so that what it measures for its log becomes metrics, with the usage of the hour. A
 * sweep without the lease measures nothing, so that one minute has one sweep's metrics.
 */
export function measureSweep(given: DialerDeps, collector: Collector): TracedInvocation {
  const { clock, log } = given;
  const begunAt = clock.now();
  let measured: LogFields | undefined;
  let oldestEventAt = Infinity;
  const deps: DialerDeps = {
    ...given,
    log(level, event, fields) {
      if (event === "sweep.measured") measured = fields;
      log(level, event, fields);
    },
    ledger: withMethods(given.ledger, {
      async due(query) {
        const found = await given.ledger.due(query);
        if (query.of !== undefined)
          for (const { dueAt } of found.flat()) oldestEventAt = Math.min(oldestEventAt, dueAt);
        return found;
      },
    }),
  };
  return {
    deps,
    async send() {
      if (measured === undefined) return;
      const at = clock.now();
      try {
        const metrics = [
          ...toGauges(
            { ...measured, oldest_event_seconds: Math.max(0, at - oldestEventAt) / 1000 },
            at,
          ),
          ...(await countWaiting(at, given)),
          ...(await countUsage({ begunAt, now: at }, given)),
        ];
        const failed = await collector.post("metrics", encodeMetrics(metrics));
        if (failed !== undefined)
          log("warning", "traces.not_sent", { count: metrics.length, code: failed });
      } catch (error) {
        log("warning", "traces.not_measured", { error: errorForLog(error) });
      }
    },
  };
}

/** Returns a metric of each figure. */
function toGauges(figures: object, at: number): Metric[] {
  return Object.entries(figures).flatMap(([name, value]: [string, unknown]) =>
    typeof value === "number" ? toGauge(name, [{ value, at }]) : [],
  );
}

/** Counts waiting calls by reason, of at most some backlogs. Test calls do not count. */
async function countWaiting(at: number, { ledger, documents }: MetricDeps): Promise<Metric[]> {
  const listed = await documents.list("backlog", { limit: backlogsMax });
  const lanes = listed
    .filter(({ key }) => !isTestClient(backlogOfKey(key).client))
    .map(({ key }) => ({ key }));
  if (lanes.length === 0) return [];
  const due = await ledger.due({ lanes, until: Number.MAX_SAFE_INTEGER, each: eachMax });
  const ids = due.flat().map(({ id }) => id);
  const { rows } = await ledger.readWithoutContext(ids.slice(0, waitingMax));
  const byReason = Map.groupBy(
    rows.filter(({ state }) => state === "WAITING"),
    ({ reason }) => reason,
  );
  const points = [...byReason].map(([reason, { length: value }]) => ({
    attributes: { reason },
    value,
    at,
  }));
  return points.length === 0 ? [] : [toGauge("waiting", points)];
}

/**
 * Returns the usage of the hour. Its counts begin at zero each hour; the first sweep of an hour sends the last counts of the
 * hour before.
 */
async function countUsage(
  { begunAt, now }: { begunAt: number; now: number },
  deps: MetricDeps & Pick<DialerDeps, "sweepSeconds">,
): Promise<Metric[]> {
  // By its beginning, as a sweep may take as long as the time to the next.
  const startAt = Math.floor((begunAt - deps.sweepSeconds * 1000) / hourMs) * hourMs;
  const hour = { startAt, at: Math.min(now, startAt + hourMs) };
  const counters = await sumHour(startAt, deps);
  const countsOf = (names: readonly string[], by?: string) =>
    names.flatMap((name) => {
      const value = counters.get(name);
      return value === undefined ? [] : { ...hour, value, attributes: by ? { [by]: name } : {} };
    });
  const timesOf = (timed: Timed) => {
    const count = counters.get(countOf(timed));
    const ms = counters.get(sumOf(timed)) ?? 0;
    return count === undefined ? [] : [{ ...hour, count, value: ms / 1000 }];
  };
  return [
    toSum("accepted", countsOf([usageCounters.accepted]), true),
    toSum("calls", countsOf(callStates, "state"), true),
    // A result that comes late takes the place of `unknown`.
    toSum("results", countsOf(resultStatuses, "outcome"), false),
    toTimes("dial.wait", timesOf("dial")),
    toTimes("provider.answer", timesOf("answer")),
  ];
}

/** Sums the counters of an hour. Test calls do not count. */
async function sumHour(
  hour: number,
  { documents, log }: Pick<MetricDeps, "documents" | "log">,
): Promise<ReadonlyMap<string, number>> {
  const prefixes = [hourPrefixOf(hour)];
  const listed = await documents.listByPrefix("usage", { prefixes, limit: usageMax });
  const sums = new Map<string, number>();
  for (const { key, value } of skipUnreadable(listed, { log })) {
    if (isTestClient(parseUsageKey(key).client)) continue;
    for (const [name, count] of Object.entries(value))
      sums.set(name, (sums.get(name) ?? 0) + count);
  }
  return sums;
}
