import type { CallRow } from "#shared/calls/call-row.ts";
import { analysesLane, resultsLane } from "#shared/calls/lane.ts";
import { awaitsAnalysis, isTryPending } from "#shared/calls/chain.ts";
import { isContradicted } from "#shared/calls/ended.ts";
import { applyCallBack, type Write } from "#shared/calls/transitions.ts";
import { type CallBack, mayPromise } from "#shared/calls/tries.ts";
import { findCallBacks, findPolling } from "#shared/dial-plan/dial-plan.ts";
import { ConflictError, onConflict, retry } from "#shared/lib/retry.ts";
import { analysisLateMsMax, analysisMsMax } from "#shared/lib/timing.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { decideCallBack } from "#shared/policy/call-back.ts";
import { toNextTry } from "#shared/policy/next-try.ts";
import { requireReadable } from "#shared/ports/unreadable.ts";
import type { Analysis } from "#shared/providers/provider.ts";
import { changeRows } from "../record/change-rows.ts";
import { ensureBacklogs } from "../record/open-backlogs.ts";
import { wakeForRows } from "../record/wake-dispatcher.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";

/** Maximum tries of a wish's writes while other writes come first. */
const triesMax = 4;

type Settings = Pick<DialerDeps, "settings">;

/**
 * Returns an ended call with the outcome of the wish in its record: the call-back that follows, or why none does. The first
 * wish counts. A call that has a successor stays: `followLateWish` has that one changed.
 */
export function withWish(
  row: CallRow,
  { analysis, at }: { analysis: Analysis | undefined; at: number },
  { settings }: Settings,
): CallRow {
  const { tries, next, callBack, request } = row;
  if (analysis?.wished === undefined) return row;
  if (next !== undefined || callBack !== undefined) return row;
  const { table, schedule } = settings;
  const wish = { wished: analysis.wished, request };
  const decision = decideCallBack(row, wish, { table, schedule, now: at });
  if (decision === undefined) return row;
  const wished = { ...row, callBack: decision, updatedAt: at };
  if (tries === undefined || "reason" in decision) return wished;
  return { ...wished, next: toNextTry(row, tries.number, decision.at) };
}

/**
 * Has an ended call's record read until it has the provider's analysis, which may have a wish or an opt-out. The number
 * is kept only for a wish, as an opt-out is listed by its hash.
 */
export function awaitAnalysis(
  row: CallRow,
  { analysis, at }: { analysis: Analysis | undefined; at: number },
  { settings }: Settings,
): CallRow {
  const { callBack, request, route, result, optedOut, agentId, tries } = row;
  const { plan, providerOf } = settings;
  const mayBePromised = request !== null && mayPromise(row, at);
  // A wish that cannot be granted is reported, too.
  const mayWish =
    callBack === undefined &&
    findCallBacks(agentId, plan) !== undefined &&
    (mayBePromised || tries?.callBacks === undefined);
  const over = { ...row, request: null, lane: null, dueAt: null };
  if (route === null) return over;
  const mayOptOut =
    !optedOut &&
    result?.status === "completed" &&
    findPolling(route, plan) !== undefined &&
    providerOf(route).recordsOptOuts === true;
  const pollAt = mayWish || mayOptOut ? findAnalysisPoll(row, analysis, at) : undefined;
  if (pollAt === undefined) return over;
  return {
    ...over,
    request: mayBePromised && mayWish ? request : null,
    lane: analysesLane(route),
    dueAt: pollAt,
  };
}

/** Returns the next time to read an ended call's record for its analysis. Undefined: none follows. */
function findAnalysisPoll(
  { result, updatedAt, history }: CallRow,
  analysis: Analysis | undefined,
  at: number,
): number | undefined {
  if (analysis?.isAnalyzed !== false) return undefined;
  // A call that nobody answered has no wish.
  if (result?.status !== "completed" && result?.status !== "voicemail") return undefined;
  if (isContradicted({ history })) return undefined;
  const endedAt = result.readAt ?? updatedAt;
  if (at >= endedAt + analysisMsMax) return undefined;
  let waitMs = minuteMs;
  while (endedAt + waitMs <= at) waitMs = 2 * waitMs + minuteMs; // after 1, 3, 7, 15, 31 and 45 minutes
  return endedAt + Math.min(waitMs, analysisMsMax);
}

/** Returns the due time up to which the reading of an ended call's record for its analysis is so late that it is left out. */
export function lateUntil(at: number): number {
  return at - analysisLateMsMax;
}

/** Completes the write of a record that was read after the call's end, for its analysis or upon a callback. */
export function completeEnded(
  {
    before,
    recorded,
    analysis = { isAnalyzed: false },
  }: { before: CallRow; recorded: CallRow | undefined; analysis?: Analysis | undefined },
  { version, at }: Write,
  deps: Settings,
): CallRow | undefined {
  const row = recorded ?? before;
  const wished = withWish(row, { analysis, at }, deps);
  const { next, route } = wished;
  if (row.next === undefined && next !== undefined && route !== null)
    return { ...wished, version, lane: resultsLane(route), dueAt: at };
  if (!awaitsAnalysis(before)) return wished === row ? recorded : { ...wished, version };
  return { ...awaitAnalysis(wished, { analysis, at }, deps), version };
}

/**
 * Handles a wish that is read after its call has a successor. A waiting successor becomes the call-back. The
 * successor is changed first, under its version, so that a dialer claims it either before the change or not at all;
 * then the call's row records the outcome of the wish. A crash between both leaves a promise, which the next reading
 * of the wish finds.
 *
 * @throws ConflictError if others keep changing the rows
 */
export async function followLateWish(
  { id, next, callBack, agentId }: CallRow,
  analysis: Analysis | undefined,
  deps: RowDeps & Pick<DialerDeps, "wakeDispatcher">,
): Promise<void> {
  if (analysis?.wished === undefined || next === undefined || callBack !== undefined) return;
  if (findCallBacks(agentId, deps.settings.plan) === undefined) return;
  await retry(async () => {
    const row = await readRow(id, deps);
    if (row?.next === undefined || row.callBack !== undefined) return;
    const decided = await changeSuccessor(row, analysis.wished, deps);
    const note = (one: CallRow, { version, at }: Write) => ({
      ...one,
      callBack: decided,
      updatedAt: at,
      version,
    });
    const { conflicts } = await changeRows([row], note, deps);
    if (conflicts > 0) throw conflict();
  }, onConflict(triesMax));
}

/** Changes the waiting successor of a call into the call-back that is wished. Returns the outcome of the wish. */
async function changeSuccessor(
  row: CallRow,
  wished: unknown,
  deps: RowDeps & Pick<DialerDeps, "wakeDispatcher">,
): Promise<CallBack> {
  const { next } = row;
  const successor = next && (await readRow(next.id, deps));
  // The successor is about to be dialed.
  if (successor === undefined && isTryPending(row)) throw conflict();
  const tooLate = { reason: "too_late" } as const;
  if (successor === undefined) return tooLate;
  // An earlier reading of the wish has written this much.
  if (successor.tries?.promisedAt !== undefined) return { at: successor.tries.promisedAt };
  const { table, schedule } = deps.settings;
  const { request, state } = successor;
  const inputs = { table, schedule, now: deps.clock.now() };
  const decision = decideCallBack(row, { wished, request }, inputs) ?? tooLate;
  if ("reason" in decision) return decision;
  if (state !== "WAITING") return tooLate;
  // Dispatchers read only backlogs with a document, and a call-back goes ahead.
  await ensureBacklogs([{ ...successor, isUrgent: true }], deps);
  const { changed, conflicts } = await changeRows(
    [successor],
    (one, write) => applyCallBack(one, decision.at, write),
    deps,
  );
  if (conflicts > 0) throw conflict();
  if (changed.length === 0) return tooLate;
  await wakeForRows([decision.at], deps);
  return decision;
}

/** Makes the error of a call that others keep changing. */
export const conflict = () => new ConflictError("a call was changed by others each time");

async function readRow(
  id: string,
  { ledger }: Pick<DialerDeps, "ledger">,
): Promise<CallRow | undefined> {
  return requireReadable((await ledger.read([id])).get(id));
}
