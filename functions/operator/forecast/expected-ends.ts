import { causeForLog, UnreachableError } from "#functions/api/http/port-limits.ts";
import type { RouteDeps } from "#functions/api/http/context.ts";
import { findText } from "#shared/rules/texts.ts";
import type { Delay } from "./queued.ts";
import { type CallNow, readWaitingNow, type WaitingNow } from "./waiting-now.ts";

/** The time at which the last waiting call of a request is expected to be dialed, or to end otherwise. */
export interface ExpectedEnd {
  /** Milliseconds since the epoch. Null: not known, and `blockedBy` says why, or nothing waits. */
  at: number | null;
  /** The holders of its calls beside their turn, each with its name and the number of calls; reasons as in rows. */
  blockedBy: { reason: string; name: string; calls: number }[];
  /** Its calls that wait, each counted. Null: not all could be read. */
  waiting: number | null;
}

/** The end of calls that could not be read. */
const notRead: ExpectedEnd = {
  at: null,
  blockedBy: [{ reason: "not_read", name: "", calls: 0 }],
  waiting: null,
};

/** The expected end of calls, and what the last of them waits for until then. */
export interface KnownEnd extends ExpectedEnd {
  delays: readonly Delay[];
}

/**
 * Returns when requests are expected to end, by the forecast's own queues over all waiting calls. The calls are read
 * at most every five seconds.
 *
 * @param tries the requests to which later tries belong, by the tries' ids
 * @returns the ends by request; requests of which nothing waits are missing
 */
export async function readExpectedEnds(
  requestIds: readonly string[],
  deps: RouteDeps,
  tries: ReadonlyMap<string, string> = new Map(),
): Promise<Map<string, ExpectedEnd>> {
  const asked = new Set(requestIds);
  if (asked.size === 0) return new Map();
  let waiting: WaitingNow;
  try {
    waiting = await readWaitingNow(deps);
  } catch (error) {
    // A document of a later version must not hide the requests either.
    const level = error instanceof UnreachableError ? "warning" : "alarm";
    deps.log(level, "expected_ends.not_read", { error: causeForLog(error) });
    return new Map(requestIds.map((id) => [id, notRead]));
  }
  const own = waiting.calls.map((call) => ({ call, of: tries.get(call.id) ?? call.requestId }));
  const byRequest = Map.groupBy(
    own.filter(({ of }) => asked.has(of)),
    ({ of }) => of,
  );
  return new Map(
    [...byRequest].map(([id, some]) => [
      id,
      endOf(
        some.map(({ call }) => call),
        waiting,
      ),
    ]),
  );
}

/** Returns when the last of some waiting calls is expected to be dialed, or to finish otherwise. */
export function endOf(
  calls: readonly CallNow[],
  { agentsCut, isCut }: Pick<WaitingNow, "agentsCut" | "isCut">,
): KnownEnd {
  const held = calls.filter(({ heldBy }) => findText(heldBy.reason)?.isTurn !== true);
  const blockedBy = countHolders(held).map(({ reason, name, calls: count }) => ({
    reason,
    name,
    calls: count,
  }));
  // Later calls of these agents were not read.
  if (isCut || calls.some(({ agentId }) => agentsCut.has(agentId))) {
    return { ...notRead, blockedBy: [...blockedBy, ...notRead.blockedBy], delays: [] };
  }
  const waiting = calls.length;
  const unmeasured = calls.flatMap((call) => call.unmeasured ?? []);
  for (const [name, { length }] of Map.groupBy(unmeasured, (account) => account))
    blockedBy.push({ reason: "not_measured", name, calls: length });
  let at = 0;
  let delays: readonly Delay[] = [];
  for (const call of calls) {
    if (call.endsAt === null || unmeasured.length > 0)
      return { at: null, blockedBy, waiting, delays: [] };
    if (call.endsAt > at) ({ endsAt: at, delays } = { ...call, endsAt: call.endsAt });
  }
  return { at, blockedBy, waiting, delays };
}

/** Counts calls by what holds them, the most frequent first. */
export function countHolders(
  calls: readonly CallNow[],
): { reason: string; name: string; calls: number; isExact: boolean }[] {
  const counted = new Map<string, ReturnType<typeof countHolders>[number]>();
  for (const { heldBy } of calls) {
    const { reason, name, isExact } = heldBy;
    const key = `${reason} ${name}`;
    const known = counted.get(key);
    if (known === undefined) counted.set(key, { reason, name, calls: 1, isExact });
    else {
      known.calls += 1;
      known.isExact &&= isExact;
    }
  }
  return [...counted.values()].toSorted((one, other) => other.calls - one.calls);
}
