import DataLoader from "dataloader";
import type { Call } from "../../shared/call.ts";
import { accountOf } from "../../shared/dial-plan.ts";
import type { Claim, Hold, Settlement } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import type { Route } from "../../shared/providers/index.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import { decide, type Decision, expiryOf } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { createHolds, heldUntil, holdReason } from "./holds.ts";
import { inLanes } from "./lanes.ts";
import { settlementOf } from "./settlement.ts";
import {
  entryOf,
  logDecision,
  type Park,
  remind,
  type Unclaimed,
  writeParks,
  writeUnclaimed,
} from "./write-decisions.ts";

/** A claim older than this is not dialed: whoever reads the row may count on it. */
const claimAgeMsMax = 10_000;
/** From claim to settlement, beside the provider's own time. */
const claimOverheadMs = 25_000;
/** Calls that an invocation has no time left for. */
const noTimeDelayMs = 5_000;

/** A call that a delivery asks for: brought by its message, or named by it. */
export interface WantedCall {
  id: string;
  call?: Call;
}

/** What became of a wanted call: done with, or its message must come again. */
export type Result = "done" | "again";

type Dial = Extract<Decision, { kind: "dial" }>;

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
  const read = () =>
    withTimeLimit(Promise.all([ledger.read(wanted.map(({ id }) => id)), ledger.holds()]), 5);
  const [rows, holds] = await read().catch(read);

  const now = clock.now();
  const writes: Unclaimed[] = [];
  const parks: Park[] = [];
  const dials: Dial[] = [];
  for (const { id, call: delivered } of wanted) {
    const row = rows.get(id);
    const { fraction } = deps.random;
    const decision = decide(delivered, row, { plan: settings.plan, holds, now, fraction });
    const call = row?.call ?? delivered;
    if (decision.kind === "acknowledge" || call === undefined) continue;
    if (decision.kind === "dial") dials.push(decision);
    else if (decision.kind === "park") parks.push({ call, decision });
    else writes.push({ call, seenDueAt: row?.dueAt ?? null, decision });
  }

  const again = (decided: { call: Call }[]) => (error: unknown) => {
    deps.log("alarm", "ledger.unreachable", { count: decided.length, error: errorForLog(error) });
    for (const { call } of decided) results.set(call.id, "again");
  };
  await writeUnclaimed(writes, deps).catch(again(writes));
  await writeParks(parks, deps).catch(again(parks));
  const dialOnce = createAttempts(holds, deps, deadline);
  await inLanes(
    dials.toSorted((a, b) => a.dialAt - b.dialAt),
    {
      lanes: deps.lanes,
      group: ({ route }) => route.provider,
      groupLanes: ({ route }) => accountOf(route, settings.plan).concurrency,
    },
    async (dial) => {
      results.set(dial.call.id, await dialOnce(dial));
    },
  );
  return results;
}

/** Dials the calls of one delivery. Claims and settlements made at the same moment share a round trip. */
function createAttempts(read: readonly Hold[], deps: ReadyDeps, deadline: number) {
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
    await clock.sleep(Math.max(0, dial.dialAt - clock.now()));
    const { call, route, timeoutSeconds } = dial;
    const before = await mayClaim(dial).catch(() => "again" as const);
    if (before !== "claim") return before;

    const at = Math.max(clock.now(), dial.dialAt); // a timer may fire a millisecond early
    const token = random.token();
    const claim: Claim = {
      ...entryOf(call, deps),
      token,
      route,
      at,
      deadline: at + timeoutSeconds * 1000 + claimOverheadMs,
      ...(dial.resendOf === undefined ? {} : { resendOf: dial.resendOf }),
    };
    const claimed = await claimOrReadBack(claim);
    if (claimed !== "ours") return claimed;

    const now = clock.now();
    // Frozen, or the ledger was slow: the sweep may be about to call this claim's outcome unknown.
    const outcome: DialOutcome =
      now - at > claimAgeMsMax
        ? { kind: "not_placed", code: "claim_too_old" }
        : await settings.providers.dial(call, route, timeoutSeconds).catch((error: unknown) => {
            log("alarm", "provider.threw", { call_id: call.id, error: errorForLog(error) });
            return { kind: "unknown", code: "provider_threw" } as const;
          });
    return settle(dial, token, outcome, clock.now() - now);
  }

  /** What stands in the way of a claim: expiry, too little time, or a hold that another call probes. */
  async function mayClaim(dial: Dial): Promise<Result | "claim"> {
    const { call, route, resendOf, seenDueAt, timeoutSeconds } = dial;
    const now = clock.now();
    const write = async (decision: Unclaimed["decision"]) => {
      // An unknown call keeps its row as it stands: that is due, and the sweep asks again.
      if (resendOf === undefined) await writeUnclaimed([{ call, seenDueAt, decision }], deps);
      return "done" as const;
    };
    const defer = (reason: string, dueAt: number) =>
      write({ kind: "write", state: "DEFERRED", reason, dueAt });
    // Decided long ago, perhaps: a lane may have been minutes away.
    if (now >= expiryOf(call, settings.plan)) {
      return write({ kind: "write", state: "EXPIRED", reason: "expired" });
    }
    if (now + timeoutSeconds * 1000 + claimOverheadMs > deadline) {
      return defer("no_time", now + noTimeDelayMs);
    }
    const held = await holds.waitFor(route, now);
    if (held === undefined) return "claim";
    return defer(holdReason(held), heldUntil(held.probeAt, random.fraction()));
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
    const holdsFirst = outcome.kind === "account_refused";
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
    if (dueAt !== undefined && written === "written") await remind([{ id: call.id, dueAt }], deps);
    if (!holdsFirst) await keepHolds(call, route, outcome);
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
