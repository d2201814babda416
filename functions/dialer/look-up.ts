import * as z from "zod";
import { accountOf } from "../../shared/dial-plan.ts";
import type { CallRow } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import type { FoundCall, SoughtCall } from "../../shared/providers/dialing-provider.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import { claimAgeMsMax, type LookUp } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { inLanes } from "./lanes.ts";
import { logDecision, type Park } from "./write-decisions.ts";

/** For all that a provider is asked about one call. */
const lookUpSecondsMax = 20;
/** A look-up, the ledger's part in it, and what is left to acknowledge the message. */
const timeNeededMs = 35_000;
/** What our clock and the provider's may differ by. */
const clockMarginMs = 5_000;
/** What an index of the ledger may lag behind. */
const indexMarginMs = 10_000;
/** So long after its time a provider may yet place a call that it was asked for. */
const lateMsMax = 600_000;
/** Calls to one number that are compared; with more, what was found by number could be any of them. */
const callsToNumberMax = 100;

/**
 * Asks the providers for calls of unknown outcome. Found, a call is PLACED; otherwise its row stays as it is, and the
 * sweep reminds of it until its time is over.
 *
 * @returns those whose time is over, to be parked
 */
export async function lookUpCalls(
  lookUps: LookUp[],
  deps: ReadyDeps,
  deadline: number,
): Promise<Park[]> {
  const { clock, settings, lanes, log } = deps;
  const lost: Park[] = [];
  /** Accounts that have failed to answer: asking them once more for each of many calls would only take time. */
  const failing = new Set<string>();
  await inLanes(
    lookUps,
    {
      lanes,
      group: ({ route }) => route.provider,
      groupLanes: ({ route }) => accountOf(route, settings.plan).concurrency,
    },
    async (lookUp) => {
      const { call, route, token, orPark } = lookUp;
      if (clock.now() + timeNeededMs > deadline) return; // its row is due, and the sweep reminds again
      const account = accountNameOf(route);
      let found: FoundCall | undefined;
      let isAsked = false;
      try {
        if (!failing.has(account)) {
          found = await ask(lookUp, deps);
          isAsked = true;
        }
      } catch (error) {
        // An answer that cannot be read may be about this call alone.
        if (!(error instanceof z.ZodError || error instanceof SyntaxError)) failing.add(account);
        const fields = { call_id: call.id, provider: route.provider, error: errorForLog(error) };
        log("warning", "look_up.failed", fields);
      }
      try {
        const isPlaced = found !== undefined && (await settleFound(found, lookUp, deps));
        if (!isPlaced && isAsked) await noteMiss(lookUp, deps);
        if (!isPlaced && orPark) lost.push({ call, decision: { kind: "park", token } });
      } catch (error) {
        // What was found is not forgotten: its row stays due, and is looked after again.
        log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
      }
    },
  );
  return lost;
}

/** So many steps a history has at most before look-ups are no longer told in it. */
const recordedStepsMax = 40;

/** Tells in the call's history that it was looked for, and that its provider had nothing to show. */
async function noteMiss({ call: { id }, history }: LookUp, { ledger, clock }: ReadyDeps) {
  if (history.length >= recordedStepsMax) return;
  const entry = { at: clock.now(), state: "UNKNOWN", reason: "not_found" } as const;
  await withTimeLimit(ledger.note([{ id, entry }]), 5);
}

/** @throws where the provider could not be asked */
async function ask(lookUp: LookUp, deps: ReadyDeps): Promise<FoundCall | undefined> {
  const { call, route, attempt } = lookUp;
  const provider = deps.settings.providerOf(route);
  const sought: SoughtCall = { call, attempt, ...timeOf(lookUp, deps) };
  const asking = provider.lookUp?.(sought, route) ?? Promise.resolve(undefined);
  return withTimeLimit(asking, lookUpSecondsMax);
}

/**
 * Settles a call as the one that was found, if it surely is.
 *
 * @throws where the ledger could not be asked
 */
async function settleFound(found: FoundCall, lookUp: LookUp, deps: ReadyDeps): Promise<boolean> {
  const { call, route, token, attempt } = lookUp;
  const { ledger, clock } = deps;
  const providerCallId = await ownOf(found, lookUp, deps);
  if (providerCallId === undefined) return false;
  const [settled] = await withTimeLimit(
    ledger.settle([
      { id: call.id, token, state: "PLACED", reason: "found", providerCallId, at: clock.now() },
    ]),
    5,
  );
  const fields = { reason: "found", provider: route.provider, attempt };
  if (settled === true) logDecision(deps, call, "PLACED", fields);
  return true;
}

/** When the request of a claim was under way, if it was sent. */
function timeOf(
  { claimedAt, route }: { claimedAt: number; route: Route },
  { settings }: ReadyDeps,
): Pick<SoughtCall, "from" | "until"> {
  const limitMs = accountOf(route, settings.plan).timeoutSeconds * 1000;
  return {
    from: claimedAt - clockMarginMs,
    until: claimedAt + claimAgeMsMax + limitMs + clockMarginMs,
  };
}

/**
 * The provider's id of the sought call. Found by our own id it is certain. Found by number it is ours where it is the
 * only one that is no other row's, and no other row to that number might have been placed in that time, nor has been
 * under an id that the list does not show: another account's provider may have called through this one's carrier.
 */
async function ownOf(
  found: FoundCall,
  lookUp: LookUp,
  deps: ReadyDeps,
): Promise<string | undefined> {
  if (found.by === "id") return found.providerCallId;
  const { call, route, numberHash } = lookUp;
  const { ledger, clock, settings } = deps;
  // After a rotation of HASH_KEY the calls to its number cannot be told by it.
  const { phone_number } = call.request;
  if (traceOfNumber(phone_number, settings.hashKey).numberHash !== numberHash) return undefined;
  const { from, until } = timeOf(lookUp, deps);
  // Another call's row may be some moments late in the ledger's index of numbers.
  if (clock.now() < until + indexMarginMs) return undefined;
  const rows = await withTimeLimit(ledger.list({ numberHash, limit: callsToNumberMax }), 5);
  if (rows.length === callsToNumberMax) return undefined;
  const others = rows.filter(({ id }) => id !== call.id);
  const overlaps = ({ claimedAt, route: other, state }: CallRow) => {
    if (other === null) return false; // never claimed
    if (claimedAt === null) return true; // claimed before that was kept
    const time = timeOf({ claimedAt, route: other }, deps);
    const lateMs = unresolved.has(state) ? lateMsMax : 0;
    return time.from <= until && from <= time.until + lateMs;
  };
  const isOfAccount = (other: Route | null) =>
    other !== null && accountNameOf(other) === accountNameOf(route);
  const isHidden = (row: CallRow) =>
    row.state === "PLACED" && !(row.providerCallId !== null && isOfAccount(row.route));
  if (others.some((row) => (unresolved.has(row.state) || isHidden(row)) && overlaps(row))) {
    return undefined;
  }
  const taken = new Set(others.map(({ providerCallId }) => providerCallId));
  const [candidate, ...more] = found.providerCallIds.filter((id) => !taken.has(id));
  if (candidate === undefined || more.length > 0) return undefined;
  // Bound to one call for good, should another be looked up at this moment and not see this one.
  const now = clock.now();
  const bound = await withTimeLimit(
    ledger.bindKey(
      `provider call ${accountNameOf(route)} ${candidate}`,
      { fingerprint: call.id, seed: "" },
      now,
      now + settings.plan.retentionDays * 86_400_000,
    ),
    5,
  );
  return bound.fingerprint === call.id ? candidate : undefined;
}

/** States of a call that has been claimed and may have been placed. */
const unresolved = new Set<CallRow["state"]>([
  ...(["DIALING", "UNKNOWN", "PARKED"] as const),
  ...(["REDIALED", "CANCELLED"] as const), // by an operator, who may err
]);
