import { backlogOf } from "../../shared/calls/call-row.ts";
import { callIdOf } from "../../shared/calls/ids.ts";
import type { CallLedger, DuePlace } from "../../shared/ledger/call-ledger.ts";
import { messageSchema } from "../../shared/queue/messages.ts";
import { aRequestId } from "../support/calls.ts";
import { createDialerBench } from "../support/dialer.ts";
import { putDocument, webhook } from "../support/dialer-calls.ts";

/** Result for rows that were all due at one opening. */
export interface Opening {
  /** Number of ids in hints per row. */
  hinted: number;
  /** Number of rows not dialed at the end. */
  left: number;
  /** Maximum number of sweeps at work at the same time. */
  sweepsAtOnce: number;
  minutes: number;
}

const stepSeconds = 5;

/**
 * Lets real sweeps call up a great many rows of four backlogs, all due at one opening, of an account whose
 * dialers handle this many per second in the order of the hints. The ledger answers after 100 ms, so that a
 * sweep takes some time.
 */
export async function measureOpening({
  rows: count,
  dialedPerSecond,
  callsPerSecond,
}: {
  rows: number;
  dialedPerSecond: number;
  /** The account's pace; undefined: no pace. */
  callsPerSecond?: number;
}): Promise<Opening> {
  const pace = callsPerSecond === undefined ? {} : { providers: { webhook: { callsPerSecond } } };
  const plan = { agents: { "*": webhook }, expireAfterHours: 72, ...pace };
  const bench = createDialerBench({ plan, concurrency: 25, startAt: "2026-06-01T09:00Z" });
  const dueAt = bench.now();
  const backlogs = ["crm", "shop"].flatMap((client) =>
    ["sales", "support"].map((agentId) => ({ client, agentId })),
  );
  const waiting = new Map<string, string[]>();
  for (const one of backlogs) {
    const requestId = aRequestId(dueAt - 3_600_000);
    const ids = Array.from({ length: count / 4 }, (_, index) => callIdOf(requestId, index));
    waiting.set(backlogOf(one), ids);
    const used = { usedAt: dueAt, nextDueAt: dueAt, visitedAt: dueAt, marks: [] };
    await putDocument(bench, { kind: "backlog", key: backlogOf(one) }, { ...one, ...used });
  }
  const dialed = new Set<string>();
  let reading = 0;
  let sweepsAtOnce = 0;
  const due: CallLedger["due"] = async (query) => {
    sweepsAtOnce = Math.max(sweepsAtOnce, ++reading);
    await bench.sleep(100);
    reading -= 1;
    return query.backlogs.map(({ key, after }) => {
      const found: DuePlace[] = [];
      const ids = waiting.get(key) ?? [];
      for (let index = firstAfter(ids, after?.id); index < ids.length; index++) {
        const id = ids[index] ?? "";
        if (found.length === query.each) break;
        if (!dialed.has(id)) found.push({ id, dueAt });
      }
      return found;
    });
  };
  bench.breakLedger({ due });
  const hints: { visibleAt: number; ids: string[] }[] = [];
  let hinted = 0;
  bench.deps.queue = {
    async send() {},
    async sendMany(messages) {
      for (const { message, delaySeconds = 0 } of messages) {
        const parsed = messageSchema.parse(message);
        if (parsed.kind !== "due") continue;
        hinted += parsed.ids.length;
        hints.push({ visibleAt: bench.now() + delaySeconds * 1000, ids: parsed.ids });
      }
      return messages.length;
    },
  };
  const mostMinutes = 10 + (count / Math.min(dialedPerSecond, callsPerSecond ?? Infinity) / 60) * 2;
  let minutes = 0;
  for (; dialed.size < count && minutes < mostMinutes; minutes++) {
    for (let second = 0; second < 60; second += stepSeconds) {
      const firstSweepSeconds = second === 0 ? 0 : 60;
      await bench.simulate(stepSeconds, { firstSweepSeconds });
      dialSome(hints, bench.now(), dialedPerSecond * stepSeconds, dialed);
    }
  }
  return { hinted: hinted / count, left: count - dialed.size, sweepsAtOnce, minutes };
}

/** Dials rows of arrived hints in order, as many as the time allows. */
function dialSome(
  hints: { visibleAt: number; ids: string[] }[],
  now: number,
  most: number,
  dialed: Set<string>,
): void {
  hints.sort((a, b) => a.visibleAt - b.visibleAt);
  let count = 0;
  while (count < most && (hints[0]?.visibleAt ?? Infinity) <= now) {
    for (const id of hints.shift()?.ids ?? []) {
      if (dialed.has(id)) continue;
      dialed.add(id);
      count += 1;
    }
  }
}

function firstAfter(ids: readonly string[], after: string | undefined): number {
  if (after === undefined) return 0;
  let [from, until] = [0, ids.length];
  while (from < until) {
    const middle = (from + until) >>> 1;
    if ((ids[middle] ?? "") <= after) from = middle + 1;
    else until = middle;
  }
  return from;
}
