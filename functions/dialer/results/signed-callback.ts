import { conflict } from "./call-backs.ts";
import { requireReadable } from "#shared/ports/unreadable.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { findCallId } from "#shared/calls/ids.ts";
import { type CallRow, isIdempotent } from "#shared/calls/call-row.ts";
import { hasRung, proveClaimPlaced, wasAnswered } from "#shared/calls/lost-claim.ts";
import { states } from "#shared/calls/states.ts";
import type { LogFields } from "#shared/lib/log.ts";
import { onConflict, retry } from "#shared/lib/retry.ts";
import type { CallbackReport } from "#shared/providers/provider.ts";
import type { AckOrRetry } from "#shared/ports/queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { halts } from "#shared/rules/gates.ts";
import { readWithSuspension } from "../runtime/epoch.ts";
import { changeRows } from "../record/change-rows.ts";
import { countAgain, isGivenBack } from "../record/count-again.ts";
import { settleProved } from "../record/settle-proved.ts";
import { findNextPollAt } from "../record/due-times.ts";
import { retryLater } from "../runtime/retry-later.ts";
import { awaitHolder } from "./await-holder.ts";
import { endRetries } from "./next-tries.ts";
import { listCallee, listHash, optOut } from "./opt-out.ts";
import { openRowOf, writeResults } from "./write-results.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";

type Callback = Extract<EventMessage, { kind: "callback" }>;
type DeliveryOutcome = Extract<CallbackReport, { kind: "reported" }>;

/** Interval between a process's alarms about callbacks that do not verify. */
const warnEveryMs = hourMs;

/** Time after which no function holds a replaced secret any more, as functions read secrets again every five minutes. */
const secretsMsMax = 6 * minuteMs;
/** Interval at which a callback is verified again in that time. */
const verifyAgainSeconds = 30;

/** Maximum tries of a write if other writes come first. */
const triesMax = 3;

/** A verified callback. */
interface SignedReport {
  message: Callback;
  attempt: number;
  report: DeliveryOutcome;
  /** Route of the callback's account. */
  route: Route;
}

/**
 * Handles a callback whose signed body contains the result. The signature is verified before anything else. A
 * verified callback proves that the provider has the call, even under a claim that a restore of the ledger has lost,
 * and its opt-out is listed in every state of the row and without a row. A call of unknown outcome is settled PLACED.
 * A call that is being dialed is left to its holder. A callback that does not verify or is malformed is dropped,
 * except a webhook's while its secret is being replaced.
 *
 * @returns `hint` if its provider signs no callbacks, which only its headers seemed to say
 * @throws if the ledger could not be reached. The message is then retried
 */
export async function followSigned(
  message: Callback,
  attempt: number,
  deps: DialerDeps,
): Promise<AckOrRetry | "hint"> {
  const { call } = message;
  const route = await findRouteOf(message, deps);
  if (route === undefined) return leaveWithoutRow(message, attempt, deps);
  if (deps.settings.providerOf(route).readCallback === undefined) return "hint";
  const report = await verified(message, route, deps);
  if (report === "ack" || "retryAfterSeconds" in report) return report;
  const id = call?.id ?? report.call?.id;
  if (id === undefined) return "ack";
  return retry<AckOrRetry>(async () => {
    const row = await readRow(id, deps);
    const callback = { message, attempt, report, route };
    return row === undefined ? followWithoutRow(callback, deps) : followRow(row, callback, deps);
  }, onConflict(triesMax));
}

/** @throws UnreadableError if only a later version can read the row: the callback waits for it */
async function readRow(
  id: string,
  { ledger }: Pick<DialerDeps, "ledger">,
): Promise<CallRow | undefined> {
  return requireReadable((await ledger.read([id])).get(id));
}

/**
 * Returns the route of a callback's account: that of its call's row, or any of the plan's. If the account has left the
 * plan, the body of a callback to the account's own address names the call.
 */
async function findRouteOf(
  { account, call, signed }: Callback,
  deps: Pick<DialerDeps, "settings" | "ledger">,
): Promise<Route | undefined> {
  const { agents } = deps.settings.plan;
  const planned = Object.values(agents).find((one) => one.account === account);
  const id =
    call === undefined && planned === undefined ? findCallId(signed?.body ?? "") : call?.id;
  const { route } = (id === undefined ? undefined : await readRow(id, deps)) ?? {};
  return route?.account === account ? route : planned;
}

/**
 * Lists the opt-out of a callback whose call has no row. A restore may have lost the row. Until the restore is done,
 * the call may get a row again, so the callback is retried.
 */
async function followWithoutRow(
  { message, attempt, report }: SignedReport,
  deps: Pick<
    DialerDeps,
    "documents" | "journal" | "epochStore" | "settings" | "clock" | "random" | "log" | "memory"
  >,
): Promise<AckOrRetry> {
  const { call } = message;
  if (report.optedOut === true && call?.numberHash !== undefined) {
    await listHash({ id: call.id, numberHash: call.numberHash }, deps);
  }
  return leaveWithoutRow(message, attempt, deps);
}

/** Drops a callback whose call has no row, or none that tells by which account it is signed, unless a restore is under way. */
async function leaveWithoutRow(
  { account, call }: Callback,
  attempt: number,
  deps: Pick<DialerDeps, "documents" | "epochStore" | "settings" | "clock" | "log" | "memory">,
): Promise<AckOrRetry> {
  const read = await readWithSuspension([], deps);
  const isHalted = halts.some((stop) => stop(read));
  const ofCall = call === undefined ? {} : { call_id: call.id };
  deps.log("warning", isHalted ? "callback.kept" : "callback.without_row", {
    account,
    ...ofCall,
  });
  return isHalted ? retryLater(attempt) : "ack";
}

async function followRow(
  row: CallRow,
  callback: SignedReport,
  deps: DialerDeps,
): Promise<AckOrRetry> {
  const { attempt, report } = callback;
  const claimed = findClaim(row, callback, deps);
  if (claimed === undefined) return "ack";
  const isOptOut = report.optedOut === true && !row.optedOut;
  const { placed } = states[row.state];
  const { standing, claim } = claimed;
  const isRefused = standing === "released" || (standing === "own" && placed === "no");
  const isDropped = isRefused && !hasRung(report.result);
  if (placed === "now") {
    // The row itself is its holder's. A later delivery of a dropped callback may be the only one that lists.
    if (isOptOut && (isDropped || attempt === 1)) await listCallee(row, deps);
    return isDropped ? "ack" : awaitHolder(attempt);
  }
  if (standing === "own" && placed === "perhaps") await settleFound(row, claim, deps);
  const isToProve = standing === "lost" || (isRefused && !isDropped);
  const isProved = !isToProve || (await proveClaim(row, { ...callback, claim, isRefused }, deps));
  if (isOptOut) await recordOptOut(row.id, deps);
  if (isDropped || !isProved) return "ack";
  const settled = await readRow(row.id, deps);
  // The write that it was placed is on the queue, or others came first: a result has no row to be written to yet.
  if (settled !== undefined && settled.state !== "PLACED") return retryLater(attempt);
  const results = openRowOf(settled).map((open) => ({
    row: open,
    result: report.result,
    analysis: { wished: report.wished, isAnalyzed: true },
  }));
  if (!(await writeResults(results, deps.clock.now(), deps))) throw conflict();
  return "ack";
}

/** @throws ConflictError if another writer has changed the row */
async function recordOptOut(
  id: string,
  deps: RowDeps & Pick<DialerDeps, "journal">,
): Promise<void> {
  const current = await readRow(id, deps);
  if (current !== undefined && !(await optOut(current, deps))) throw conflict();
}

async function settleFound(
  row: CallRow,
  claim: string,
  deps: RowDeps & Pick<DialerDeps, "queue" | "sharesStatements">,
): Promise<void> {
  const at = deps.clock.now();
  if (row.route !== null && isGivenBack(row)) await countAgain({ row, claim }, row.route, deps);
  // Its result is still to be written, and is its end. An agent's `retry` needs the call until then.
  const pollAt = findNextPollAt(row, at, deps);
  const found = { id: row.id, claim, state: "PLACED", reason: "found", at, pollAt } as const;
  await settleProved(row, found, deps);
}

/**
 * Writes that a claim has placed the call, though a restore lost it or its own answer said otherwise. The call is
 * counted again: its count was lost, too, or given back.
 *
 * @param isRefused true if the claim's own answer said that nothing was placed
 * @returns false if the call was placed under a newer claim, too: an alarm says so, and the newer claim stays. If
 * the older one was answered or declined, no retry follows
 * @throws ConflictError if another writer has changed the row
 */
async function proveClaim(
  row: CallRow,
  { claim, isRefused, route, report }: SignedReport & { claim: string; isRefused: boolean },
  deps: RowDeps & Pick<DialerDeps, "sharesStatements" | "journal">,
): Promise<boolean> {
  const { id, state } = row;
  const at = deps.clock.now();
  const claimedAt = row.claimedAt ?? at;
  const pollAt = findNextPollAt({ route, claimedAt }, at, deps);
  const proved = { claim, route, attempt: report.call?.attempt ?? 1, pollAt };
  const giveBack = await countAgain({ row, claim }, route, deps);
  const { changed, conflicts } = await changeRows(
    [row],
    (one, write) => proveClaimPlaced(one, proved, write),
    deps,
  );
  const isProved = changed.length > 0;
  if (!isProved) await giveBack();
  if (conflicts > 0) throw conflict();
  if (!isProved && wasAnswered(report.result) && !(await endRetries(row, deps))) throw conflict();
  if (!isProved || isRefused || ["REDIALED", "CANCELLED"].includes(state)) {
    deps.log("alarm", "call.placed_late", { call_id: id, state });
  }
  return isProved;
}

/** Returns the result in a callback, or the decision about a callback without an end or a valid signature. */
async function verified(
  { account, call, signed }: Callback,
  route: Route,
  deps: Pick<DialerDeps, "settings" | "log" | "clock" | "memory">,
): Promise<DeliveryOutcome | AckOrRetry> {
  const { providerOf } = deps.settings;
  const report = signed && (await providerOf(route).readCallback?.(signed, route, call?.id));
  if (report?.kind === "reported") return report;
  const fields = { account, ...(call === undefined ? {} : { call_id: call.id }) };
  if (report?.kind === "malformed") deps.log("warning", "callback.malformed", fields);
  if (report?.kind !== "unverified") return "ack";
  warnUnverified(fields, deps);
  // The API has verified a webhook's callback, so one of both functions still holds a replaced secret.
  const isRenewing = deps.clock.now() - (signed?.receivedAt ?? 0) < secretsMsMax;
  return isRenewing && route.provider === "webhook"
    ? { retryAfterSeconds: verifyAgainSeconds }
    : "ack";
}

/**
 * A callback's claim, and how the row knows it. `own`: the row has it. `released`: its own answer said that it placed
 * nothing. `lost`: the row does not know it, as a restore has lost it.
 */
interface Claimed {
  claim: string;
  standing: "own" | "released" | "lost";
}

/** Returns the claim that a callback is about; undefined if it is of another account or names none. */
function findClaim(
  row: CallRow,
  { message: { account, call }, report }: SignedReport,
  { settings, random }: Pick<DialerDeps, "settings" | "random">,
): Claimed | undefined {
  const { claims, released = [], attempt } = row;
  const isOfAccount = row.route?.account === account;
  if (call !== undefined) {
    const { claim } = call;
    // A receiver that ignores repeated requests has made one call, and reports it to the address of the first one.
    const isOneCall =
      isOfAccount && row.state === "PLACED" && isIdempotent(row.route) && hasRung(report.result);
    if ((isOneCall && released.includes(claim)) || claims.includes(claim))
      return isOfAccount ? { claim, standing: "own" } : undefined;
    // The address proves that the claim was made for this account.
    return { claim, standing: released.includes(claim) ? "released" : "lost" };
  }
  if (report.call === undefined) return undefined;
  if (report.call.attempt > attempt) {
    const route = row.route ?? settings.table.find(row);
    return route?.account === account ? { claim: random.version(), standing: "lost" } : undefined;
  }
  if (!isOfAccount) return undefined;
  const claim = [...new Set([...released, ...claims])].at(report.call.attempt - attempt - 1);
  const standing = claim !== undefined && claims.includes(claim) ? "own" : "released";
  return { claim: claim ?? random.version(), standing };
}

/** Raises an alarm, at most once an hour: the secret may be wrong, or somebody knows a callback URL. */
function warnUnverified(
  fields: LogFields,
  { clock, log, memory }: Pick<DialerDeps, "clock" | "log" | "memory">,
): void {
  const now = clock.now();
  const isSaid = now - memory.callbacks.unverifiedSaidAt < warnEveryMs;
  if (!isSaid) memory.callbacks.unverifiedSaidAt = now;
  log(isSaid ? "warning" : "alarm", "callback.unverified", fields);
}
