import * as z from "zod";
import type { CallRow, CallState } from "../../shared/calls/call-row.ts";
import {
  claimAgeMsMax,
  missed,
  reviewed,
  type Settlement,
} from "../../shared/calls/state-machine.ts";
import { accountOf } from "../../shared/dial-plan/dial-plan.ts";
import type { Change } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/platform/log.ts";
import type { FoundCall, SoughtCall } from "../../shared/providers/dialing-provider.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import { traceOfNumber } from "../../shared/numbering/phone-number.ts";
import { withTimeLimit } from "../../shared/platform/time-limit.ts";
import type { LookUp } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { inTurns } from "./delivery/in-turns.ts";
import { settleSurely, unknownDueAt } from "./settle.ts";
import { countStates, logDecision } from "./write-decided.ts";

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
 * Asks the providers for calls of unknown outcome. A call that is found is PLACED; otherwise its row waits for the next
 * look-up, or, once its time is over, for a person.
 */
export async function lookUpCalls(
  lookUps: readonly LookUp[],
  deps: ReadyDeps,
  deadline: number,
): Promise<void> {
  const { clock, settings, concurrency } = deps;
  /** Accounts that have failed to answer: asking them once more for each of many calls would only take time. */
  const failing = new Set<string>();
  await inTurns(
    lookUps,
    {
      total: concurrency,
      groupOf: ({ row }) => row.route.provider,
      limitOf: ({ row }) => accountOf(row.route, settings.plan).concurrency,
    },
    async (lookUp) => {
      // Without time for it the row stays due, and a sweep calls it up again.
      if (clock.now() + timeNeededMs <= deadline) await lookUpOne(lookUp, failing, deps);
    },
  );
}

async function lookUpOne(lookUp: LookUp, failing: Set<string>, deps: ReadyDeps): Promise<void> {
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
    // An answer that cannot be read may be about this call alone.
    if (!(error instanceof z.ZodError || error instanceof SyntaxError)) failing.add(account);
    const fields = { call_id: call.id, provider: row.route.provider, error: errorForLog(error) };
    log("warning", "look_up.failed", fields);
  }
  try {
    const isPlaced = found !== undefined && (await settleFound(found, lookUp, deps));
    if (!isPlaced && (isAsked || orReview)) await writeMiss(lookUp, orReview, deps);
  } catch (error) {
    // What was found is not forgotten: its row stays due, and is looked after again.
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
  }
}

/** The provider had nothing to show: it is asked again later, or a person decides. */
async function writeMiss({ call, row }: LookUp, orReview: boolean, deps: ReadyDeps): Promise<void> {
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

/** @throws where the provider could not be asked */
async function ask(lookUp: LookUp, deps: ReadyDeps): Promise<FoundCall | undefined> {
  const { call, row } = lookUp;
  const provider = deps.settings.providerOf(row.route);
  const sought: SoughtCall = { call, attempt: row.attempt, ...timeOf(row, deps) };
  const asking = provider.lookUp?.(sought, row.route) ?? Promise.resolve(undefined);
  return withTimeLimit(asking, lookUpSecondsMax);
}

/**
 * Settles a call as the one that was found, if it surely is.
 *
 * @throws where the ledger could not be asked
 */
async function settleFound(found: FoundCall, lookUp: LookUp, deps: ReadyDeps): Promise<boolean> {
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
  const { call, row } = lookUp;
  const { route, numberHash } = row;
  const { ledger, documents, clock, random, settings } = deps;
  // After a rotation of HASH_KEY the calls to its number cannot be told by it.
  const { phone_number } = call.request;
  if (traceOfNumber(phone_number, settings.hashKey).numberHash !== numberHash) return undefined;
  const { from, until } = timeOf(row, deps);
  // Another call's row may be some moments late in the ledger's index of numbers.
  if (clock.now() < until + indexMarginMs) return undefined;
  const { rows, next, unreadable } = await ledger.list({ numberHash, limit: callsToNumberMax });
  if (next !== undefined || unreadable > 0) return undefined;
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
  const isHidden = (other: CallRow) =>
    other.state === "PLACED" && !(other.providerCallId !== null && isOfAccount(other.route));
  if (others.some((one) => (unresolved.has(one.state) || isHidden(one)) && overlaps(one))) {
    return undefined;
  }
  const taken = new Set(others.map(({ providerCallId }) => providerCallId));
  const [candidate, ...further] = found.providerCallIds.filter((id) => !taken.has(id));
  if (candidate === undefined || further.length > 0) return undefined;
  // Taken by one call for good, should another be looked up at this moment and not see this one.
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
  ...(["REDIALED", "CANCELLED"] as const), // by an operator, who may err
]);
