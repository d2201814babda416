import type { Call } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { resultsLane } from "#shared/calls/lane.ts";
import { contradicted, hasEnded, isContradicted, isSuperseded } from "#shared/calls/ended.ts";
import { type Decided, type Write, enterState } from "#shared/calls/transitions.ts";
import { isCallBackNext, isTryPending } from "#shared/calls/chain.ts";
import { keptUntil } from "#shared/calls/tries.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { retentionMsOf } from "#shared/dial-plan/expiry.ts";
import { ends, halts, trusted } from "#shared/rules/gates.ts";
import { findVerdict, toDecided } from "#shared/rules/rule.ts";
import { appendEntry, cancelledCallEntry } from "#shared/policy/journal-entries.ts";
import { planNextTry, toNextCall } from "#shared/policy/next-try.ts";
import { readLastTries, readTries } from "#shared/ports/last-tries.ts";
import { type DecisionFacts, toDecisionFacts } from "../decide/decide-delivered.ts";
import { awaitAnalysis, completeEnded, withWish } from "./call-backs.ts";
import type { Analysis } from "#shared/providers/provider.ts";
import { readControlDocuments } from "../decide/control-documents.ts";
import { changeRows } from "../record/change-rows.ts";
import { type ToWrite, writeDecided } from "../record/write-decisions.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";

/**
 * Completes the write of a call's result. For a call of an agent with `retry` or `callBacks` it names the call that
 * follows, and leaves the row due until that call has a row, so that a crash between the two writes ends no chain. If
 * no call follows, it erases the number and the context: at the latest at the end of the chain, or once the analysis
 * was read.
 *
 * @param change.before the row without the result
 * @param change.analysis the record's wish to be called back
 */
export function completeResult(
  {
    before,
    recorded,
    analysis,
  }: { before: CallRow; recorded: CallRow | undefined; analysis?: Analysis | undefined },
  write: Write,
  deps: Pick<DialerDeps, "settings">,
): CallRow | undefined {
  if (hasEnded(before.result)) return completeEnded({ before, recorded, analysis }, write, deps);
  if (recorded === undefined) return undefined;
  const { at } = write;
  const { result } = recorded;
  if (result === null || result.status === "live") {
    const { dueAt, request, tries } = recorded;
    if (tries === undefined || request === null || dueAt === null) return recorded;
    const until = keptUntil(tries);
    if (at >= until) return { ...recorded, request: null };
    return { ...recorded, dueAt: Math.min(dueAt, until) };
  }
  const row = withWish(recorded, { analysis, at }, deps);
  const { table, schedule } = deps.settings;
  const { request, route } = row;
  const next =
    request === null ? undefined : (row.next ?? planNextTry(row, { table, schedule, now: at }));
  if (next !== undefined && route !== null)
    return { ...row, next, lane: resultsLane(route), dueAt: at };
  return awaitAnalysis(row, { analysis, at }, deps);
}

/**
 * Writes the rows of the tries that results have named, then marks the calls before them as done. Writing a try twice is
 * harmless, as its id is fixed.
 *
 * @throws if the ledger or the documents cannot be reached. The calls stay due, and a poll does what is left
 */
export async function makeNextTries(
  rows: readonly CallRow[],
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "rowsPerSecond" | "wakeDispatcher">,
): Promise<void> {
  const pending = rows.filter(isTryPending);
  if (pending.length === 0) return;
  const tries = pending.flatMap((row) => {
    const call = toNextCall(row);
    return call === undefined ? [] : [{ row, call: withLastResult(call, row) }];
  });
  const calls = tries.map(({ call }) => call);
  const documents = await readControlDocuments(calls, { numbers: true }, deps);
  // The ledger may lack a try that was dialed.
  if (halts.some((stop) => stop(documents))) return;
  const known = toDecisionFacts(documents, deps);
  const writes = tries.map(({ row, call }): ToWrite => {
    return { call, row: undefined, decided: decideTry(row, call, known) };
  });
  await writeDecided(writes, deps);
  await changeRows(
    pending,
    (row, { version }) => ({ ...row, version, lane: null, dueAt: null, request: null }),
    deps,
  );
}

/** Returns a try with the result of the call before it, by which its split counts the chain if it ends unplaced. */
function withLastResult(call: Call, { split, result }: CallRow): Call {
  if (split === undefined || call.tries === undefined || result === null) return call;
  return { ...call, tries: { ...call.tries, lastResult: result.status } };
}

/**
 * Decides a new try: it waits for its time, unless the chain has ended meanwhile. If it may have been dialed in the time that a
 * restore lost, it is reviewed then, as an end would say that nobody was phoned. One that waits is reviewed once it is due.
 */
function decideTry(row: CallRow, call: ToWrite["call"], known: DecisionFacts): Decided {
  const dueAt = row.next?.dueAt ?? known.now;
  const reason = isCallBackNext(row) ? "call_back" : "retry";
  const waits = { state: "WAITING", reason, dueAt } as const;
  try {
    const resolved = known.resolver.resolve(call, undefined);
    const facts = { ...known, at: dueAt };
    const end = isSuperseded(row) ? findVerdict(ends, resolved, facts) : placedBefore;
    if (end === undefined) return waits;
    const lost = findVerdict(trusted, resolved, facts);
    if (lost !== undefined) return toDecided(lost, dueAt);
    return "kind" in end ? toDecided(end, dueAt) : end;
  } catch {
    return isSuperseded(row) ? waits : placedBefore; // unreadable documents are read again when the try is due
  }
}

const placedBefore = { state: "CANCELLED", reason: "placed_before" } as const;

/** Makes the tries that are pending among these rows. Returns the other rows, whose results are still to be polled. */
export async function continueChains<Row extends CallRow>(
  rows: readonly Row[],
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "rowsPerSecond" | "wakeDispatcher">,
): Promise<Row[]> {
  await makeNextTries(rows, deps);
  return rows.filter((row) => !isTryPending(row));
}

/**
 * Cancels the waiting try after a call whose provider has reported another end. A try that is already claimed cannot be
 * stopped: an alarm reports it.
 */
export async function cancelNextTry(
  row: CallRow,
  deps: RowDeps & Pick<DialerDeps, "journal">,
): Promise<void> {
  if (row.next === undefined) return;
  const [last = row] = (await readLastTries([row], (ids) => deps.ledger.read(ids))).values();
  if (last.id === row.id) return; // its row does not exist yet, and is made CANCELLED
  const cancel = (one: CallRow, write: Write) =>
    one.state === "WAITING" ? enterState(one, placedBefore, write) : undefined;
  const { changed } = await changeRows([last], cancel, deps);
  if (changed.length > 0) return recordCancelled(last, deps);
  if (last.state === "CANCELLED") return;
  deps.log("alarm", "try.not_cancelled", { call_id: last.id, state: last.state });
}

/**
 * Ends the retries of a placed call that was answered or declined under another claim, whatever its own result says. A
 * call-back stays that it or a later try has promised.
 *
 * @returns false if another writer has changed the row
 */
export async function endRetries(
  row: CallRow,
  deps: RowDeps & Pick<DialerDeps, "journal">,
): Promise<boolean> {
  if (row.tries === undefined) return true;
  const [chain = []] = (await readTries([row], (ids) => deps.ledger.read(ids))).values();
  if (chain.some(isCallBackNext)) return true;
  const addContradiction = (one: CallRow, { version, at }: Write) => {
    const step = { at, state: one.state, reason: contradicted };
    return isContradicted(one) ? undefined : { ...one, history: [...one.history, step], version };
  };
  const { conflicts } = await changeRows([row], addContradiction, deps);
  if (conflicts > 0) return false;
  await cancelNextTry(row, deps);
  return true;
}

/**
 * Writes to the journal that a cancelled try is cancelled again if a restore brings it back without its ancestor's
 * later result.
 */
async function recordCancelled(
  { id }: CallRow,
  deps: Pick<DialerDeps, "settings" | "clock" | "journal" | "random" | "log">,
): Promise<void> {
  const retentionMs = retentionMsOf(deps.settings.plan);
  const order = { at: deps.clock.now(), by: "system", client: null, retentionMs };
  await appendEntry(cancelledCallEntry(id, order), deps).catch((error: unknown) =>
    deps.log("alarm", "store.unreachable", { call_id: id, error: errorForLog(error) }),
  );
}
