import type { CallResult } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { awaitsAnalysis } from "#shared/calls/chain.ts";
import type { Analysis } from "#shared/providers/provider.ts";
import { recordResult } from "#shared/calls/record-result.ts";
import { hasEnded } from "#shared/calls/ended.ts";
import type { Write } from "#shared/calls/transitions.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { findPolling } from "#shared/dial-plan/dial-plan.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { leaveLive } from "../record/live-calls.ts";
import { changeRows } from "../record/change-rows.ts";
import { watchResults } from "./watch-results.ts";
import { followLateWish } from "./call-backs.ts";
import { cancelNextTry, completeResult, makeNextTries } from "./next-tries.ts";
import { findNextPollAt, isPolledLast } from "../record/due-times.ts";
import { dayMs, minuteMs } from "#shared/lib/units.ts";

/** A placed call that is polled for its result. */
export type OpenRow = CallRow & { route: Route; claimedAt: number };

/** A placed call, and what its provider has said of it. */
interface Found {
  row: OpenRow;
  result: CallResult | undefined;
  analysis?: Analysis | undefined;
}

/** Returns the row if its result may be written, otherwise nothing. */
export function openRowOf(row: CallRow | undefined): OpenRow[] {
  if (row === undefined || row.state !== "PLACED") return [];
  const { route, claimedAt } = row;
  return route === null || claimedAt === null ? [] : [{ ...row, route, claimedAt }];
}

/**
 * Writes the results of calls' records. A row that has changed since it was read is left to its writer. After the
 * time for polling, a call without a known end has the result `unknown`.
 *
 * @param askedAt time before the request to the provider, as of which its answer is
 * @returns false if another writer has changed one of the rows
 */
export async function writeResults(
  found: readonly Found[],
  askedAt: number,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "journal" | "rowsPerSecond" | "wakeDispatcher">,
): Promise<boolean> {
  const { log } = deps;
  const byId = new Map(found.map((one) => [one.row.id, one]));
  const { changed: written, conflicts } = await changeRows(
    found.map(({ row }) => row),
    (row, write) => {
      const { result, analysis } = byId.get(row.id) ?? {};
      const isOpen = result === undefined || result.status === "live";
      const waitMinutes = waitMinutesOf(row, deps);
      const isOver = isOpen && isPolledLast(row.claimedAt, askedAt, waitMinutes);
      const known = isOver ? toUnknown(result) : result && { ...result, readAt: askedAt };
      const pollAt = findNextPollAt(row, write.at, deps) ?? write.at;
      const recorded = recordResult(row, { result: known, pollAt }, write);
      return completeResult({ before: row, recorded, analysis }, write, deps);
    },
    deps,
  );
  // A record that is read once more for its analysis reports no end.
  const isFirst = ({ id }: CallRow) => !hasEnded(byId.get(id)?.row.result);
  const changed = written.filter(
    (row) => isFirst(row) || row.history.length !== byId.get(row.id)?.row.history.length,
  );
  for (const next of changed) {
    if (next.result === null || next.result.status === "live") continue;
    const { id: call_id, agentId: agent_id, client, route } = next;
    const account = route?.account ?? "";
    if (!isFirst(next)) {
      log("alarm", "result.contradicted", { call_id, account });
      await cancelNextTry(next, deps);
      continue;
    }
    const { status, unmapped } = next.result;
    log("info", "call.result", { call_id, client, agent_id, account, result: status });
    if (unmapped === true) log("warning", "result.unmapped", { call_id, account });
  }
  const ended = changed.filter(({ result }) => hasEnded(result));
  await leaveLive(
    ended.flatMap(({ id, route }) => (route === null ? [] : { id, route, isMeasured: true })),
    deps,
  );
  await watchResults(ended.filter(isFirst), deps);
  await makeNextTries(written, deps);
  for (const { row, analysis } of found) await followLateWish(row, analysis, deps);
  return conflicts === 0;
}

/** Time until the next poll of calls whose records could not be read. */
const postponedMs = 5 * minuteMs;
/** Time after the end of polling after which the service stops reading an unreadable record. */
const lostMs = dayMs;

/**
 * Postpones the next poll of calls whose records could not be read.
 *
 * @param isKept true if polling continues, as it is this service that cannot handle it
 */
export async function postpone(
  rows: readonly OpenRow[],
  { isKept }: { isKept: boolean },
  deps: RowDeps,
): Promise<void> {
  const change = (one: OpenRow, write: Write) => {
    if (isKept && !awaitsAnalysis(one))
      return { ...one, version: write.version, dueAt: write.at + postponedMs };
    const isLost = isPolledLast(one.claimedAt, write.at - lostMs, waitMinutesOf(one, deps));
    const result = isLost ? toUnknown(one.result ?? undefined) : undefined;
    const recorded = recordResult(one, { result, pollAt: write.at + postponedMs }, write);
    return completeResult({ before: one, recorded }, write, deps);
  };
  await changeRows(rows, change, deps);
}

function waitMinutesOf({ route }: OpenRow, { settings }: Pick<DialerDeps, "settings">): number {
  return findPolling(route, settings.plan)?.waitMinutes ?? 0;
}

/** Returns the result of a call whose end did not become known in time. */
function toUnknown(result: CallResult | undefined): CallResult {
  const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
  return { ...nothing, ...result, status: "unknown" };
}
