import type { CallRow } from "#shared/calls/call-row.ts";
import { isCallBackNext } from "#shared/calls/chain.ts";
import { isFinished } from "#shared/calls/states.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import type { Progress, RequestProgress } from "../http/context.ts";
import { UnreachableError } from "../http/port-limits.ts";
import { callIdsOf, rowsOf } from "./request-rows.ts";

/** Time per call for which a request's counts are cached, so that clients cause at most a thousand row reads a second. */
const rememberedMsPerCall = 1;
/** Maximum requests whose counts are cached. The oldest count is dropped. */
const rememberedMax = 1000;
/** Time limit for waiting for a count that another request has begun. */
const sharedSecondsMax = 10;

/** Creates an empty cache of counts. */
export function createRequestProgress({
  ledger,
  clock,
}: {
  ledger: Pick<CallLedger, "read">;
  clock: { now(): number };
}): RequestProgress {
  const remembered = new Map<string, { until: number; progress: Promise<Progress> }>();
  return {
    of(requestId, total) {
      const now = clock.now();
      const current = remembered.get(requestId);
      if (current !== undefined && now < current.until) return shared(current.progress);
      const progress = countProgress(rowsOf(callIdsOf(requestId, 0, total), ledger), total, now);
      const entry = { until: now + total * rememberedMsPerCall, progress };
      remembered.delete(requestId); // Map.set alone would keep its old position
      remembered.set(requestId, entry);
      const [first] = remembered.keys();
      if (remembered.size > rememberedMax && first !== undefined) remembered.delete(first);
      progress.catch(() => {
        if (remembered.get(requestId) === entry) remembered.delete(requestId);
      });
      return progress;
    },
    forget: (requestId) => remembered.delete(requestId),
  };
}

/** The fields of a row that are counted. */
type CountedRow = Pick<CallRow, "state" | "result" | "dueAt" | "request" | "tries" | "callBack">;

/** Waits for a count that another request has begun. On Workers that count never ends if its client hangs up. */
function shared(progress: Promise<Progress>): Promise<Progress> {
  return withTimeLimit(progress, sharedSecondsMax).catch((cause: unknown) => {
    throw new UnreachableError("the count of another request failed", { cause });
  });
}

/**
 * Counts the rows of a request.
 *
 * @param rows all its rows, in parts, as they may be large
 * @param total number of its calls, with or without rows
 * @param now milliseconds since the epoch
 */
export async function countProgress(
  rows: Iterable<CountedRow> | AsyncIterable<CountedRow>,
  total: number,
  now: number,
): Promise<Progress> {
  const byState: Progress["counts"]["by_state"] = {};
  const byResult: Progress["counts"]["by_result"] = {};
  let ended = 0;
  let promised = 0;
  for await (const row of rows) {
    byState[row.state] = (byState[row.state] ?? 0) + 1;
    const status = row.result?.status;
    if (status !== undefined) byResult[status] = (byResult[status] ?? 0) + 1;
    if (isFinished(row, now)) ended += 1;
    if (isCallBackNext(row)) promised += 1;
  }
  const counts = { by_state: byState, by_result: byResult };
  const withPromised = promised === 0 ? counts : { ...counts, promised };
  return { counts: withPromised, finished: ended === total };
}
