import * as z from "zod";
import type { CallRow, CallState } from "../../shared/calls/call-row.ts";
import {
  claimAgeMsMax,
  missed,
  reviewed,
  type Settlement,
} from "../../shared/calls/state-machine.ts";
import { expiryOf } from "../../shared/dial-plan/dial-plan.ts";
import { accountOf } from "../../shared/dial-plan/routes.ts";
import { breakerKeysOf } from "../../shared/documents/breakers.ts";
import type { Change } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/platform/log.ts";
import type { FoundCall, NotPlaced, SoughtCall } from "../../shared/providers/dialing-provider.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import { traceOfNumber } from "../../shared/numbering/phone-number.ts";
import { withTimeLimit } from "../../shared/platform/time-limit.ts";
import type { LookUp } from "./decide.ts";
import type { DialerDeps } from "./context.ts";
import { keepCount } from "./breakers/circuit-breaker.ts";
import { createCaps } from "./delivery/caps.ts";
import { createPlaces } from "./delivery/places.ts";
import { settlementOf, settleSurely, unknownDueAt } from "./settle.ts";
import { countStates, logDecision } from "./write-decided.ts";

/** Time limit for everything that a provider is asked about one call. */
const lookUpSecondsMax = 20;
/** Time needed for a look-up, its ledger calls and the acknowledgement of the message. */
const timeNeededMs = 35_000;
/** Tolerated difference between this clock and the provider's. */
const clockMarginMs = 5_000;
/** Tolerated lag of a ledger index. */
const indexMarginMs = 10_000;
/** Maximum time by which a provider may place a call late after its request. */
const lateMsMax = 600_000;
/** A record of a call that was placed. */
type PlacedCall = Exclude<FoundCall, { notPlaced: NotPlaced }>;

/** Maximum calls to one number that are compared. With more, a call found by number could be any of them. */
const callsToNumberMax = 100;

/**
 * Looks up calls of unknown outcome at their providers. A call that is found is PLACED. Otherwise its row
 * waits for the next look-up, or goes to NEEDS_REVIEW once its time is over.
 */
export async function lookUpCalls(
  lookUps: readonly LookUp[],
  deps: DialerDeps,
  deadline: number,
): Promise<void> {
  const { clock, settings, concurrency } = deps;
  /** Accounts that failed to answer in this delivery: further requests to them would only take time. */
  const failing = new Set<string>();
  const limits = new Map(
    lookUps.map(({ row: { route } }) => [
      route.provider,
      accountOf(route, settings.plan).concurrency,
    ]),
  );
  const places = createPlaces({
    total: concurrency,
    limitOf: (provider) => limits.get(provider) ?? concurrency,
    isShared: () => false,
    waitMsMax: Infinity,
    clock,
  });
  await Promise.all(
    lookUps.map(async (lookUp) => {
      const release = await places.acquire(lookUp.row.route.provider);
      // If time is short, the row stays due and a sweep calls it up again.
      if (clock.now() + timeNeededMs <= deadline) await lookUpOne(lookUp, failing, deps);
      release?.();
    }),
  );
}

async function lookUpOne(lookUp: LookUp, failing: Set<string>, deps: DialerDeps): Promise<void> {
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
    // An unparsable answer may concern this call alone.
    if (!(error instanceof z.ZodError || error instanceof SyntaxError)) failing.add(account);
    const fields = { call_id: call.id, provider: row.route.provider, error: errorForLog(error) };
    log("warning", "look_up.failed", fields);
  }
  try {
    const isSettled =
      found !== undefined &&
      ("notPlaced" in found
        ? await settleNotPlaced(found.notPlaced, lookUp, deps)
        : await settleFound(found, lookUp, deps));
    if (!isSettled && (isAsked || orReview)) await writeMiss(lookUp, orReview, deps);
  } catch (error) {
    // The found call is not lost: its row stays due, and is looked up again.
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
  }
}

/** Writes that the provider had no record: the row waits for the next look-up, or for review. */
async function writeMiss(
  { call, row }: LookUp,
  orReview: boolean,
  deps: DialerDeps,
): Promise<void> {
  const { ledger, clock, random, settings } = deps;
  const write = { version: random.version(), at: clock.now() };
  const { reviewAfterSeconds } = settings.plan;
  const dueAt = unknownDueAt(row, { canLookUp: true, reviewAfterSeconds }, write.at, 0);
  const next = orReview ? reviewed(row, reviewAfterSeconds, write) : missed(row, dueAt, write);
  if (next === undefined) return;
  const [isWritten] = await ledger.write([{ next, seen: row.version }]);
  if (isWritten !== true || next.state === "UNKNOWN") return;
  logDecision(deps, call, next.state, { reason: next.reason });
  await countStates([next.state], deps);
}

/** @throws if the provider could not be asked */
async function ask(lookUp: LookUp, deps: DialerDeps): Promise<FoundCall | undefined> {
  const { call, row } = lookUp;
  const provider = deps.settings.providerOf(row.route);
  const sought: SoughtCall = { call, attempt: row.attempt, ...timeOf(row, deps) };
  const asking = provider.lookUp?.(sought, row.route) ?? Promise.resolve(undefined);
  return withTimeLimit(asking, lookUpSecondsMax);
}

/**
 * Settles a call as the found one, if that is certain.
 *
 * @throws if the ledger could not be asked
 */
async function settleFound(found: PlacedCall, lookUp: LookUp, deps: DialerDeps): Promise<boolean> {
  const { call, row } = lookUp;
  const { ledger, clock } = deps;
  const providerCallId = await ownOf(found, lookUp, deps);
  const claim = row.claims.at(-1);
  if (providerCallId === undefined || claim === undefined) return false;
  const at = clock.now();
  const settlement: Settlement = {
    id: row.id,
    claim,
    state: "PLACED",
    reason: "found",
    providerCallId,
    at,
  };
  const write = async (change: Change) => (await ledger.write([change]))[0] === true;
  const settling = await settleSurely(row, settlement, write, deps);
  if (settling === "lost") throw new Error("the settlement was lost");
  if (settling === "written") {
    const { route, attempt } = row;
    logDecision(deps, call, "PLACED", { reason: "found", provider: route.provider, attempt });
    await countStates(["PLACED"], deps);
  }
  return true;
}

/**
 * Settles a call that the provider's records prove not placed, as if the provider had answered so: it waits,
 * or ends REJECTED. A call that was resent, or whose claims a restore lost, stays UNKNOWN, as the record may be
 * of one of several requests.
 *
 * @throws if the ledger could not be asked
 */
async function settleNotPlaced(
  outcome: NotPlaced,
  { call, row }: LookUp,
  deps: DialerDeps,
): Promise<boolean> {
  const { clock, random, ledger, documents, settings, log } = deps;
  const { route, attempt, agentId, numberHash } = row;
  const { plan } = settings;
  const claim = row.claims.at(-1);
  if (claim === undefined || row.resent || row.lostUntil !== null) return false;
  const now = clock.now();
  const settlement = settlementOf(
    outcome,
    {
      row,
      claim,
      wasDueAt: now,
      isProbe: false,
      canLookUp: true,
      expiresAt: expiryOf(call, plan),
      reviewAfterSeconds: plan.reviewAfterSeconds,
    },
    now,
    random.fraction(),
  );
  const write = async (change: Change) => (await ledger.write([change]))[0] === true;
  const settling = await settleSurely(row, settlement, write, deps);
  if (settling === "lost") throw new Error("the settlement was lost");
  if (settling === "refused") return true; // the row has moved on
  const { state, reason } = settlement;
  logDecision(deps, call, state, { reason, provider: route.provider, attempt });
  await countStates([state], deps);
  try {
    await createCaps(deps).leave({ row, claim }, route);
    const read = await documents.read(breakerKeysOf(agentId, route));
    await keepCount(outcome, { agentId, route, numberHash }, read, deps);
  } catch (error) {
    log("warning", "breaker.not_kept", { call_id: call.id, error: errorForLog(error) });
  }
  return true;
}

/**
 * Period in which the request of a claim, or of claims that a restore lost, may have been sent and answered, in
 * milliseconds since the epoch.
 */
function timeOf(
  { claimedAt, lostUntil, route }: Pick<CallRow, "lostUntil"> & { claimedAt: number; route: Route },
  { settings }: DialerDeps,
): Pick<SoughtCall, "from" | "until"> {
  const limitMs = accountOf(route, settings.plan).timeoutSeconds * 1000;
  return {
    from: claimedAt - clockMarginMs,
    until: (lostUntil ?? claimedAt) + claimAgeMsMax + limitMs + clockMarginMs,
  };
}

/**
 * Returns the provider's id of the sought call. A call found by our own id is certain. A call found by number
 * is accepted only if it is the one candidate that belongs to no other row, and no other row to that number
 * may have been placed in that period, not even by another account: its provider may call through this
 * account's carrier.
 */
async function ownOf(
  found: PlacedCall,
  lookUp: LookUp,
  deps: DialerDeps,
): Promise<string | undefined> {
  if (found.by === "id") return found.providerCallId;
  const { call, row } = lookUp;
  const { route, numberHash } = row;
  const { ledger, documents, clock, random, settings } = deps;
  // A restore also lost rows of other calls to this number, whose calls cannot be told from this one.
  if (row.lostUntil !== null) return undefined;
  // After a rotation of HASH_KEY, the calls to this number cannot be found by its hash.
  const { phone_number } = call.request;
  if (traceOfNumber(phone_number, settings.hashKey).numberHash !== numberHash) return undefined;
  const { from, until } = timeOf(row, deps);
  // Another call's row may be some moments late in the ledger's index of numbers.
  if (clock.now() < until + indexMarginMs) return undefined;
  const { rows, next, unreadable } = await ledger.list({ numberHash, limit: callsToNumberMax });
  if (next !== undefined || unreadable > 0) return undefined;
  const others = rows.filter(({ id }) => id !== call.id);
  const overlaps = ({ claimedAt, lostUntil, route: other, state }: CallRow) => {
    if (other === null) return false; // never claimed
    if (claimedAt === null) return true; // claimed before claim times were kept
    const time = timeOf({ claimedAt, lostUntil, route: other }, deps);
    const lateMs = unresolved.has(state) ? lateMsMax : 0;
    return time.from <= until && from <= time.until + lateMs;
  };
  const isOfAccount = (other: Route | null) =>
    other !== null && accountNameOf(other) === accountNameOf(route);
  const isHidden = (other: CallRow) =>
    other.state === "PLACED" && !(other.providerCallId !== null && isOfAccount(other.route));
  if (others.some((one) => (unresolved.has(one.state) || isHidden(one)) && overlaps(one))) {
    return undefined;
  }
  const taken = new Set(others.map(({ providerCallId }) => providerCallId));
  const [candidate, ...further] = found.providerCallIds.filter((id) => !taken.has(id));
  if (candidate === undefined || further.length > 0) return undefined;
  // A document reserves the provider's id for one call, in case another look-up at the same time does not see
  // this one.
  const key = JSON.stringify([accountNameOf(route), candidate]);
  const document = {
    kind: "provider-id" as const,
    key,
    version: random.version(),
    value: { call: call.id },
    expiresAt: clock.now() + settings.plan.retentionDays * 86_400_000,
  };
  const [isTaken] = await documents.write([{ next: document, seen: null }]);
  if (isTaken === true) return candidate;
  const standing = (await documents.read([document])).get("provider-id", key);
  return standing?.value.call === call.id ? candidate : undefined;
}

/** States of a call that has been claimed and may have been placed. */
const unresolved = new Set<CallState>([
  ...(["DIALING", "UNKNOWN", "NEEDS_REVIEW"] as const),
  ...(["REDIALED", "CANCELLED"] as const), // set by an operator, who may err
]);
