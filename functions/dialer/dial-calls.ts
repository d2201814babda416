import DataLoader from "dataloader";
import type { Call } from "../../shared/call.ts";
import { accountOf } from "../../shared/dial-plan.ts";
import type { Claim, Hold, Settlement, UnclaimedWrite } from "../../shared/ledger/call-ledger.ts";
import { errorForLog, type LogFields, type LogLevel } from "../../shared/log.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { delaySecondsMax } from "../../shared/queue/call-queue.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import { decide, type Decision, expiryOf } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { accountHoldName, createHolds, holdReason } from "./holds.ts";
import { inLanes } from "./lanes.ts";
import { settlementOf } from "./settlement.ts";

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
type Decided<Kind extends Decision["kind"]> = {
  call: Call;
  decision: Extract<Decision, { kind: Kind }>;
};

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
  const ends: Decided<"defer" | "end">[] = [];
  const parks: Decided<"park">[] = [];
  const dials: Dial[] = [];
  for (const { id, call: delivered } of wanted) {
    const row = rows.get(id);
    const decision = decide(delivered, row, { plan: settings.plan, holds, now });
    const call = row?.call ?? delivered;
    if (decision.kind === "acknowledge" || call === undefined) continue;
    if (decision.kind === "dial") dials.push(decision);
    else if (decision.kind === "park") parks.push({ call, decision });
    else ends.push({ call, decision });
  }

  const again = (decided: { call: Call }[]) => (error: unknown) => {
    deps.log("alarm", "ledger.unreachable", { count: decided.length, error: errorForLog(error) });
    for (const { call } of decided) results.set(call.id, "again");
  };
  await writeEnds(ends, deps).catch(again(ends));
  await writeParks(parks, deps).catch(again(parks));
  const dialOnce = createAttempts(holds, deps, deadline);
  await inLanes(
    dials.toSorted((a, b) => a.dialAt - b.dialAt),
    {
      lanes: deps.lanes,
      group: ({ route }) => accountHoldName(route),
      groupLanes: ({ route }) => accountOf(route, settings.plan).concurrency,
    },
    async (dial) => {
      results.set(dial.call.id, await dialOnce(dial));
    },
  );
  return results;
}

/** Writes what was decided without a claim. */
async function writeEnds(ends: Decided<"defer" | "end">[], deps: ReadyDeps): Promise<void> {
  if (ends.length === 0) return;
  const at = deps.clock.now();
  const written = await deps.ledger.defer(
    ends.map(({ call, decision }): UnclaimedWrite => {
      const { state, reason } = decision;
      const dueAt = decision.kind === "defer" ? { dueAt: decision.dueAt } : {};
      return { ...entryOf(call, deps), state, reason, ...dueAt, at };
    }),
  );
  for (const [index, { call, decision }] of ends.entries()) {
    if (written[index] === true)
      logDecision(deps, call, decision.state, { reason: decision.reason });
  }
}

async function writeParks(parks: Decided<"park">[], deps: ReadyDeps): Promise<void> {
  if (parks.length === 0) return;
  const at = deps.clock.now();
  const reason = "outcome_unknown";
  const parked = await deps.ledger.settle(
    parks.map(({ call, decision }) => ({
      id: call.id,
      token: decision.token,
      state: "PARKED",
      reason,
      at,
    })),
  );
  for (const [index, { call }] of parks.entries()) {
    if (parked[index] === true) logDecision(deps, call, "PARKED", { reason });
  }
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

  /** What stands in the way of a claim: too little time, or a held account that another call probes. */
  async function mayClaim({
    call,
    route,
    resendOf,
    timeoutSeconds,
  }: Dial): Promise<Result | "claim"> {
    const now = clock.now();
    const wait = async (reason: string, dueAt: number) =>
      // An unknown call keeps its row as it stands: that is due, and the sweep asks again.
      resendOf === undefined ? defer(call, reason, dueAt) : "done";
    if (now + timeoutSeconds * 1000 + claimOverheadMs > deadline) {
      return wait("no_time", now + noTimeDelayMs);
    }
    const held = await holds.waitFor(route, now);
    return held === undefined ? "claim" : wait(holdReason(held), held.probeAt);
  }

  async function defer(call: Call, reason: string, dueAt: number): Promise<Result> {
    const end = { kind: "defer", state: "DEFERRED", reason, dueAt } as const;
    await writeEnds([{ call, decision: end }], deps);
    await remind(call.id, dueAt);
    return "done";
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
    await withTimeLimit(holds.keep(outcome, route, now), 3).catch((error: unknown) => {
      log("warning", "hold.not_kept", { call_id: call.id, error: errorForLog(error) });
    });
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
      holds.probeAt(route) ?? now + noTimeDelayMs,
    );
    const { state, reason, dueAt, providerCallId } = settlement;
    const written = await settleSurely(settlement);
    logDecision(deps, call, state, {
      reason,
      provider: route.provider,
      attempt,
      ms,
      ...(providerCallId === undefined ? {} : { provider_call_id: providerCallId }),
      ...(dueAt === undefined ? {} : { due_at: new Date(dueAt).toISOString() }),
    });
    if (written === "refused") {
      log("warning", "call.settlement_refused", { call_id: call.id, state, reason });
    }
    if (written === "lost") return "again";
    if (dueAt !== undefined) await remind(call.id, dueAt);
    return "done";
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

  /** A hint for a row due before the next sweep is sure to have seen it. Lost, the sweep finds the row. */
  async function remind(id: string, dueAt: number): Promise<void> {
    const delaySeconds = Math.max(0, Math.ceil((dueAt - clock.now()) / 1000));
    if (delaySeconds >= delaySecondsMax) return;
    await queue.send({ kind: "due", id }, delaySeconds).catch(() => undefined);
  }

  return dialOnce;
}

function entryOf(call: Call, { settings }: ReadyDeps) {
  return { call, ...traceOfNumber(call.request.phone_number, settings.hashKey) };
}

const events: Record<string, [LogLevel, string]> = {
  PLACED: ["info", "call.dialed"],
  DEFERRED: ["info", "call.deferred"],
  REJECTED: ["info", "call.rejected"],
  EXPIRED: ["warning", "call.expired"],
  UNKNOWN: ["warning", "call.unknown"],
  PARKED: ["alarm", "call.parked"],
};

/** One wide event a decision. */
export function logDecision(
  { log }: Pick<ReadyDeps, "log">,
  call: Call,
  state: Settlement["state"] | UnclaimedWrite["state"],
  fields: LogFields,
): void {
  const [level, event] = events[state] ?? ["warning", "call.decided"];
  log(level, event, {
    call_id: call.id,
    request_id: call.requestId,
    client: call.client,
    agent_id: call.request.agent_id,
    state,
    ...fields,
  });
}
