import DataLoader from "dataloader";
import type { Call } from "../../shared/call.ts";
import { accountOf, expiryOf } from "../../shared/dial-plan.ts";
import type { Claim, Hold, Settlement } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import {
  claimAgeMsMax,
  decide,
  type Dial,
  type LookUp,
  waitForOpening,
  type Written,
} from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { createHolds, heldUntil, holdReason } from "./holds.ts";
import { inLanes } from "./lanes.ts";
import { lookUpCalls } from "./look-up.ts";
import { freshMoment, inLine, takeSlots } from "./pace.ts";
import { createOperatorCheck, createOrders } from "./operator-orders.ts";
import { settlementOf } from "./settlement.ts";
import {
  entryOf,
  isEarly,
  logDecision,
  type Park,
  remind,
  type Unclaimed,
  writeParks,
  writeUnclaimed,
} from "./write-decisions.ts";

/** So long a provider that forgets still remembers after the last moment of a resend. */
const resendMarginMs = 10_000;
/** From claim to settlement, beside the provider's own time. */
const claimOverheadMs = 25_000;
/** Calls that an invocation has no time left for. */
const noTimeDelayMs = 5_000;

const overCap = "max_calls";
/** Longer than any call to the number that is under way. */
const overCapDelayMs = 180_000;

/** A call that a delivery asks for: brought by its message, or named by it. */
export interface WantedCall {
  id: string;
  call?: Call;
}

/** What became of a wanted call: done with, or its message must come again. */
export type Result = "done" | "again";

/**
 * Decides on every call of a delivery, and dials those that are due: claim, one request, settle. Every
 * outcome is written before its message is acknowledged; a call whose outcome is not known is never sent
 * again, but to a provider that drops what it has seen.
 *
 * @param wanted each id once
 * @param deadline when the invocation ends, in milliseconds since the epoch
 * @throws where the ledger cannot be read: nothing was dialed
 */
export async function dialCalls(
  wanted: WantedCall[],
  deps: ReadyDeps,
  deadline: number,
): Promise<Map<string, Result>> {
  const results = new Map<string, Result>(wanted.map(({ id }) => [id, "done"]));
  if (wanted.length === 0) return results;
  const { ledger, clock, settings } = deps;
  const ids = wanted.map(({ id }) => id);
  const read = () => withTimeLimit(Promise.all([ledger.read(ids), ledger.holds()]), 5);
  const [rows, holds] = await read().catch(read);
  const calls = wanted.flatMap(({ id, call }) => rows.get(id)?.call ?? call ?? []);
  const ordersNow = createOrders(calls, deps);
  const orders = await ordersNow().catch(ordersNow);

  const now = clock.now();
  const writes: Unclaimed[] = [];
  const parks: Park[] = [];
  const dials: Dial[] = [];
  const lookUps: LookUp[] = [];
  const canLookUp = (route: Route) => settings.providerOf(route).lookUp !== undefined;
  for (const { id, call: delivered } of wanted) {
    const row = rows.get(id);
    const { fraction } = deps.random;
    const { plan, schedule } = settings;
    const decision = decide(delivered, row, {
      plan,
      schedule,
      holds,
      orders,
      now,
      fraction,
      canLookUp,
    });
    const call = row?.call ?? delivered;
    if (decision.kind === "acknowledge" || call === undefined) continue;
    if (decision.kind === "dial") dials.push(decision);
    else if (decision.kind === "look_up") lookUps.push(decision);
    else if (decision.kind === "park") parks.push({ call, decision });
    else writes.push({ call, row, decision });
  }

  const again = (decided: { call: Call }[]) => (error: unknown) => {
    deps.log("alarm", "ledger.unreachable", { count: decided.length, error: errorForLog(error) });
    for (const { call } of decided) results.set(call.id, "again");
  };
  const { going, writes: unslotted } = await withTimeLimit(takeSlots(dials, deps), 10);
  writes.push(...unslotted);
  await writeUnclaimed(writes, deps).catch(again(writes));
  await writeParks(parks, deps).catch(again(parks));
  const late: Unclaimed[] = [];
  const check = createOperatorCheck(
    going.map(({ call }) => call),
    ordersNow,
    deps,
  );
  const dialOnce = createAttempts(holds, check, deps, deadline, late);
  await inLanes(
    going.toSorted((a, b) => a.dialAt - b.dialAt),
    {
      lanes: deps.lanes,
      group: ({ route }) => route.provider,
      groupLanes: ({ route }) => accountOf(route, settings.plan).concurrency,
    },
    async (dial) => {
      results.set(dial.call.id, await dialOnce(dial));
    },
  );
  await writeUnclaimed(late, deps).catch(again(late));
  const lost = await lookUpCalls(lookUps, deps, deadline);
  await writeParks(lost, deps).catch(again(lost));
  return results;
}

/**
 * Dials the calls of one delivery. Claims and settlements made at the same moment share a round trip.
 *
 * @param check what operators have said against a call that is about to go
 * @param late takes what is to be written of calls that their account had no moment for
 */
function createAttempts(
  read: readonly Hold[],
  check: ReturnType<typeof createOperatorCheck>,
  deps: ReadyDeps,
  deadline: number,
  late: Unclaimed[],
) {
  const { ledger, queue, clock, random, log, settings } = deps;
  const holds = createHolds(read, deps);
  const shared = { cache: false, maxBatchSize: 100 };
  const claims = new DataLoader((batch: readonly Claim[]) => ledger.claim([...batch]), shared);
  const settlements = new DataLoader(
    (batch: readonly Settlement[]) => ledger.settle([...batch]),
    shared,
  );
  /** Set by the first claim that can neither be made nor read back: the rest is handed back untouched. */
  let ledgerDown = false;

  async function dialOnce(dial: Dial): Promise<Result> {
    if (ledgerDown) return "again";
    const { call, route, timeoutSeconds, dialAt, resendOf } = dial;
    let moment: number | undefined;
    let ordered: Written | undefined;
    try {
      await clock.sleep(Math.max(0, dialAt - clock.now()));
      const askedAt = clock.now();
      // Beside one another: a moment that waits for an answer is soon void.
      [moment, ordered] = await Promise.all([
        freshMoment(route, undefined, deps),
        check(call, route),
      ]);
      // While the moment was waited for, or the function stood still, an operator may have given another order.
      if (clock.now() - askedAt > claimAgeMsMax) throw new Error("the orders are old");
    } catch (error) {
      log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
      return "again";
    }
    if (ordered !== undefined) {
      if (resendOf === undefined) late.push({ call, row: dial.row, decision: ordered });
      return "done";
    }
    if (moment === undefined) {
      // An unknown call keeps its row as it stands: that is due, and the sweep asks again.
      if (resendOf === undefined) late.push(inLine(dial));
      return "done";
    }
    const at = Math.max(clock.now(), moment, dialAt); // a timer may fire a millisecond early
    const before = await mayClaim(dial, at).catch((error: unknown) => {
      log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
      return "again" as const;
    });
    if (before !== "claim") return before;

    const token = random.token();
    const claim: Claim = {
      ...entryOf(call, deps),
      token,
      route,
      attempt: dial.attempt,
      at,
      ...(isEarly(dial.attempt) ? {} : { unrecorded: true }),
      deadline: at + timeoutSeconds * 1000 + claimOverheadMs,
      ...(resendOf === undefined ? {} : { resendOf }),
    };
    const claimed = await claimOrReadBack(claim);
    if (claimed !== "ours") return claimed;

    const startedAt = clock.now();
    const outcome = (await notNow(dial, at, moment)) ?? (await request(dial));
    const result = await settle(dial, token, outcome, clock.now() - startedAt);
    if (outcome.kind !== "placed" && outcome.kind !== "unknown") await takeBack(claim);
    return result;
  }

  /** What came in between since the claim: surely nothing was placed. */
  async function notNow(
    { call, route, resendUntil }: Dial,
    claimedAt: number,
    moment: number,
  ): Promise<DialOutcome | undefined> {
    const { plan, schedule } = settings;
    const mayGo = await freshMoment(route, moment, deps).catch(() => undefined);
    if (mayGo === undefined) return { kind: "not_placed", code: "pace" };
    const now = clock.now();
    // Frozen, or the ledger was slow: the sweep may be about to call this claim's outcome unknown.
    if (now - claimedAt > claimAgeMsMax || now > (resendUntil ?? now)) {
      return { kind: "not_placed", code: "claim_too_old" };
    }
    const closedBy = schedule.closedBy(call.request, route, now);
    if (closedBy === undefined) return undefined;
    const expiresAt = expiryOf(call, plan);
    const { at = expiresAt } = schedule.opening(call.request, route, now, expiresAt);
    const retryAfterSeconds = (at - now) / 1000;
    return { kind: "not_placed", code: `hours:${closedBy}`, retryAfterSeconds };
  }

  async function request(dial: Dial): Promise<DialOutcome> {
    const { call, route, attempt, resendOf, resendUntil } = dial;
    // What is repeated must have ended before the provider forgets what it repeats.
    const left = ((resendUntil ?? Infinity) + resendMarginMs - clock.now()) / 1000;
    const what = {
      call,
      attempt: resendOf === undefined ? attempt : attempt - 1,
      timeoutSeconds: Math.min(dial.timeoutSeconds, left),
    };
    return settings
      .providerOf(route)
      .dial(what, route)
      .catch((error: unknown) => {
        log("alarm", "provider.threw", { call_id: call.id, error: errorForLog(error) });
        return { kind: "unknown", code: "provider_threw" } as const;
      });
  }

  /** What stands in the way of a claim: expiry, too little time, closed hours, a hold that another call probes, a cap. */
  async function mayClaim(dial: Dial, now: number): Promise<Result | "claim"> {
    const { call, route, resendOf, row, timeoutSeconds } = dial;
    const write = async (decision: Unclaimed["decision"]) => {
      // An unknown call keeps its row as it stands: that is due, and the sweep asks again.
      if (resendOf === undefined) await writeUnclaimed([{ call, row, decision }], deps);
      return "done" as const;
    };
    const defer = (reason: string, dueAt: number) =>
      write({ kind: "write", state: "DEFERRED", reason, dueAt });
    // Decided long ago, perhaps: a lane may have been minutes away.
    const expiresAt = expiryOf(call, settings.plan);
    if (now >= expiresAt) return write({ kind: "write", state: "EXPIRED", reason: "expired" });
    if (now + timeoutSeconds * 1000 + claimOverheadMs > deadline) {
      return defer("no_time", now + noTimeDelayMs);
    }
    const opening = settings.schedule.opening(call.request, route, now, expiresAt);
    const closed = waitForOpening(opening, now);
    if (closed !== undefined) return write(closed);
    const held = await holds.waitFor(route, now);
    if (held !== undefined) {
      return defer(holdReason(held), heldUntil(held.probeAt, random.fraction()));
    }
    const free = await countAt(call, route, now);
    // Sent once more it may ring only now: so it is counted anew, in the room that it has had.
    if (free === now || resendOf !== undefined) return "claim";
    if (free < expiresAt) return defer(overCap, free);
    // A call under way may yet be taken back: it is looked at once more.
    if (row?.reason !== overCap) return defer(overCap, Math.min(now + overCapDelayMs, expiresAt));
    return write({ kind: "write", state: "EXPIRED", reason: overCap });
  }

  /** Counts a call for the caps on its number; answers with the time at which it may go. */
  async function countAt(call: Call, route: Route, at: number): Promise<number> {
    const { caps, isCounted } = settings.schedule.capsOf(call.request, route);
    if (!isCounted) return at;
    const { numberHash } = entryOf(call, deps);
    return withTimeLimit(ledger.count({ numberHash, callId: call.id, at, caps }), 5);
  }

  /** Takes a call back that was counted and surely not placed. Failing, the number rests for longer. */
  async function takeBack({ call, route, at, numberHash, resendOf }: Claim): Promise<void> {
    const { isCounted } = settings.schedule.capsOf(call.request, route);
    if (!isCounted || resendOf !== undefined) return;
    const counted = { numberHash, callId: call.id, at };
    await withTimeLimit(ledger.uncount(counted), 3).catch((error: unknown) => {
      log("warning", "cap.not_freed", { call_id: call.id, error: errorForLog(error) });
    });
  }

  /** A claim whose answer was lost is read back: it may be ours. */
  async function claimOrReadBack(claim: Claim): Promise<Result | "ours"> {
    try {
      return (await withTimeLimit(claims.load(claim), 5)) ? "ours" : "done";
    } catch (error) {
      log("alarm", "ledger.unreachable", { call_id: claim.call.id, error: errorForLog(error) });
    }
    try {
      const row = (await withTimeLimit(ledger.read([claim.call.id]), 3)).get(claim.call.id);
      if (row?.state === "DIALING") return row.token === claim.token ? "ours" : "done";
      return "again";
    } catch {
      ledgerDown = true;
      return "again";
    }
  }

  async function settle(
    dial: Dial,
    token: string,
    outcome: DialOutcome,
    ms: number,
  ): Promise<Result> {
    const { call, route, attempt, unknownSince } = dial;
    const { plan } = settings;
    const now = clock.now();
    // What this call's row does not depend on is kept count of once the row is written.
    const holdsFirst =
      outcome.kind === "account_refused" ||
      (outcome.kind === "route_refused" && dial.resendOf === undefined);
    if (holdsFirst) await keepHolds(call, route, outcome);
    const settlement = settlementOf(
      outcome,
      {
        id: call.id,
        token,
        route,
        attempt,
        expiresAt: expiryOf(call, plan),
        parkAfterSeconds: plan.parkAfterSeconds,
        canLookUp: settings.providerOf(route).lookUp !== undefined,
        ...(unknownSince === undefined ? {} : { unknownSince }),
      },
      now,
      random.fraction(),
      heldUntil(holds.probeAt(route) ?? now, random.fraction()),
    );
    const { state, reason, dueAt } = settlement;
    const written = await settleSurely(settlement);
    logDecision(deps, call, state, {
      reason,
      provider: route.provider,
      attempt,
      ms,
      ...(dueAt === undefined ? {} : { due_at: new Date(dueAt).toISOString() }),
    });
    if (written === "refused") {
      log("warning", "call.settlement_refused", { call_id: call.id, state, reason });
    }
    if (dueAt !== undefined && written === "written") {
      await remind([{ id: call.id, reason, dueAt }], deps);
    }
    // What a repeated request is answered may be about the first one: only a success says something.
    const isAnswer = dial.resendOf === undefined || outcome.kind === "placed";
    if (!holdsFirst && isAnswer) await keepHolds(call, route, outcome);
    return written === "lost" ? "again" : "done";
  }

  async function keepHolds(call: Call, route: Route, outcome: DialOutcome): Promise<void> {
    await withTimeLimit(holds.keep(outcome, route, clock.now()), 3).catch((error: unknown) => {
      log("warning", "hold.not_kept", { call_id: call.id, error: errorForLog(error) });
    });
  }

  /** A failed settlement is repeated as a write, never as a call; at last it goes onto the queue. */
  async function settleSurely(settlement: Settlement): Promise<"written" | "refused" | "lost"> {
    for (const waitMs of [0, 250, 1000]) {
      await clock.sleep(waitMs);
      try {
        const written = await withTimeLimit(settlements.load(settlement), 3);
        return written ? "written" : "refused";
      } catch (error) {
        const { id: call_id, state } = settlement;
        log("alarm", "ledger.unreachable", { call_id, state, error: errorForLog(error) });
      }
    }
    try {
      await withTimeLimit(queue.send({ kind: "outcome", settlement }), 5);
      return "written";
    } catch (error) {
      log("alarm", "queue.unreachable", { call_id: settlement.id, error: errorForLog(error) });
      return "lost";
    }
  }

  return dialOnce;
}
