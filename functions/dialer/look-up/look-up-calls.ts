import type { CallRow } from "#shared/calls/call-row.ts";
import { recordLookupMiss, requireReview, type Write } from "#shared/calls/transitions.ts";
import { errorForLog } from "#shared/lib/log.ts";
import * as z from "#shared/lib/zod.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import type { LookUp } from "../decide/decide-delivered.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { findOwnId, type FoundPlaced, findPeriod } from "./match-call.ts";
import { createCaps } from "../record/number-caps.ts";
import { countAgain, isGivenBack } from "../record/count-again.ts";
import { requestLimits } from "#shared/rules/gates.ts";
import { createResolver } from "#shared/rules/resolved-call.ts";
import { createSemaphore } from "../runtime/fair-semaphore.ts";
import { applyAnswer, toSettlement } from "../record/provider-answer.ts";
import { findNextPollAt, unknownDueAt } from "../record/due-times.ts";
import {
  type FoundCall,
  type NotPlaced,
  ProviderUnreachableError,
  type SoughtCall,
} from "#shared/providers/provider.ts";
import { settleProved } from "../record/settle-proved.ts";
import { changeRows } from "../record/change-rows.ts";
import { hourMs } from "#shared/lib/units.ts";

/** Time limit of one call's look-up at its provider. */
const lookUpSecondsMax = 20;
/** Time needed for a look-up, its ledger calls and the acknowledgement of the message. */
const timeNeededMs = 35_000;
/** Maximum age of a claim whose record counts for the circuit breakers. */
const recordMsMax = 120_000;
/**
 * Time after the review time for which a restored call waits for its first look-up, because many calls are looked up
 * then.
 */
const lostExtraMs = hourMs;

/**
 * Looks up calls of unknown outcome at their providers. A found call is settled PLACED. Otherwise the row waits for
 * the next look-up, or goes to NEEDS_REVIEW after its review time.
 */
export async function lookUpCalls(
  lookUps: readonly LookUp[],
  deps: RowDeps & Pick<DialerDeps, "queue" | "sharesStatements" | "concurrency">,
  deadline: number,
): Promise<void> {
  const { clock, settings, concurrency } = deps;
  /** Accounts that failed to answer in this delivery, to which no further requests are made. */
  const failing = new Set<string>();
  const accountOf = ({ row }: LookUp) => settings.table.account(row.route);
  const limits = requestLimits(lookUps.map(accountOf));
  const slots = createSemaphore({
    total: concurrency,
    limitOf: (account) => limits.get(account) ?? concurrency,
    isShared: () => false,
    waitMsMax: Infinity,
    clock,
  });
  await Promise.all(
    lookUps.map(async (lookUp) => {
      using slot = await slots.acquire(accountOf(lookUp).name);
      // If time is short, the row stays due and a sweep dispatches it again.
      if (slot !== undefined && clock.now() + timeNeededMs <= deadline)
        await lookUpOne(lookUp, failing, deps);
    }),
  );
}

async function lookUpOne(
  lookUp: LookUp,
  failing: Set<string>,
  deps: RowDeps & Pick<DialerDeps, "queue" | "sharesStatements">,
): Promise<void> {
  const { call, row, orReview } = lookUp;
  const { log } = deps;
  const account = accountNameOf(row.route);
  let found: FoundCall | undefined;
  let isAsked = false;
  try {
    if (!failing.has(account)) {
      found = await ask(lookUp, deps);
      isAsked = true;
    }
  } catch (error) {
    // An unreadable answer may concern only this call.
    if (!(error instanceof z.ZodError || error instanceof SyntaxError)) failing.add(account);
    const fields = { call_id: call.id, account: row.route.account, error: errorForLog(error) };
    log("warning", "look_up.failed", fields);
  }
  try {
    const isSettled =
      found !== undefined &&
      ("notPlaced" in found
        ? await settleNotPlaced(found.notPlaced, lookUp, deps)
        : await settleFound(found, lookUp, deps));
    if (!isSettled && (isAsked || (orReview && !mayStillBePolled(row, deps)))) {
      await writeLookupMiss(lookUp, deps);
    }
  } catch (error) {
    // The found call is not lost, as its row stays due and is looked up again.
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
  }
}

/**
 * Looks up a call now, after a callback, and settles it if found. Otherwise the row does not change, because nothing
 * is proved.
 *
 * @throws ProviderUnreachableError if the provider could not be asked
 * @throws if the ledger could not be reached
 */
export async function findNow(
  lookUp: LookUp,
  deps: RowDeps & Pick<DialerDeps, "queue" | "sharesStatements">,
): Promise<void> {
  const found = await ask(lookUp, deps).catch((error: unknown) => {
    throw new ProviderUnreachableError(error);
  });
  if (found !== undefined && !("notPlaced" in found)) await settleFound(found, lookUp, deps);
}

/** True if a call whose claims a restore lost may wait longer, because thousands may have become due at once. */
function mayStillBePolled(
  { lostUntil, unknownSince }: CallRow,
  { clock, settings }: Pick<DialerDeps, "clock" | "settings">,
): boolean {
  const reviewAt = (unknownSince ?? 0) + settings.plan.reviewAfterSeconds * 1000;
  return lostUntil !== null && clock.now() < reviewAt + lostExtraMs;
}

/** Writes that the provider had no record: the row waits for the next look-up, or for review. */
async function writeLookupMiss({ row, orReview }: LookUp, deps: RowDeps): Promise<void> {
  const { reviewAfterSeconds } = deps.settings.plan;
  const change = (one: CallRow, write: Write) =>
    orReview
      ? requireReview(one, reviewAfterSeconds, write)
      : recordLookupMiss(one, unknownDueAt(one, { now: write.at, fraction: 0 }, deps), write);
  await changeRows([row], change, deps);
}

/** @throws if the provider could not be asked */
async function ask(
  lookUp: LookUp,
  deps: Pick<DialerDeps, "settings">,
): Promise<FoundCall | undefined> {
  const { call, row } = lookUp;
  const provider = deps.settings.providerOf(row.route);
  const sought: SoughtCall = { call, attempt: row.attempt, ...findPeriod(row, deps) };
  const asking = provider.lookUp?.(sought, row.route) ?? Promise.resolve(undefined);
  return withTimeLimit(asking, lookUpSecondsMax);
}

/**
 * Settles a call as the found one, if that is certain.
 *
 * @throws if the ledger could not be reached
 */
async function settleFound(
  found: FoundPlaced,
  lookUp: LookUp,
  deps: RowDeps & Pick<DialerDeps, "queue" | "sharesStatements">,
): Promise<boolean> {
  const { row } = lookUp;
  const providerCallId = await findOwnId(found, lookUp, deps);
  const claim = row.claims.at(-1);
  if (providerCallId === undefined || claim === undefined) return false;
  if (isGivenBack(row)) await countAgain({ row, claim }, row.route, deps);
  const at = deps.clock.now();
  const pollAt = findNextPollAt(row, at, deps);
  const base = { id: row.id, claim, state: "PLACED", reason: "found", at } as const;
  await settleProved(row, { ...base, providerCallId, pollAt }, deps);
  return true;
}

/**
 * Settles a call that the provider's records prove not placed, as if the provider had answered so: it waits,
 * or ends REJECTED. A call that was resent, or whose claims a restore lost, stays UNKNOWN, as the record may be
 * of one of several requests.
 *
 * @throws if the ledger could not be reached
 */
async function settleNotPlaced(
  outcome: NotPlaced,
  { call, row }: LookUp,
  deps: RowDeps & Pick<DialerDeps, "queue" | "sharesStatements">,
): Promise<boolean> {
  const { clock, settings } = deps;
  const { route } = row;
  const claim = row.claims.at(-1);
  if (claim === undefined || row.resent || row.lostUntil !== null) return false;
  const now = clock.now();
  const resolver = createResolver(settings.table, () => undefined);
  const { expiresAt } = resolver.resolve(call, row);
  const answer = { outcome, row, call, target: resolver.along(route, row), sentAt: row.claimedAt };
  const settlement = toSettlement(answer, { claim, expiresAt }, deps);
  if (!(await settleProved(row, settlement, deps))) return true; // the row has moved on
  await createCaps(deps).release({ row, version: claim }, route);
  // An old record says nothing of the account as it is now.
  if (now - row.claimedAt <= recordMsMax) await applyAnswer(answer, deps);
  return true;
}
