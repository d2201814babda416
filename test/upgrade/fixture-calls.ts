import { accountOf } from "../support/account-of.ts";
import type { Call, CallRequest, Route } from "#shared/calls/call-request.ts";
import { type CallRow, toCall } from "#shared/calls/call-row.ts";
import { resultsLane } from "#shared/calls/lane.ts";
import { createRequestId, toCallId, withCalls } from "#shared/calls/ids.ts";
import type { CallState } from "#shared/calls/states.ts";
import {
  applyAction,
  applyClaim,
  applyDecision,
  applySettlement,
  type Decided,
  expireClaim,
  recordLookupMiss,
  requireReview,
  type Settlement,
} from "#shared/calls/transitions.ts";
import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import { parseDialPlan } from "../support/plans.ts";
import { findReceiver } from "#shared/dial-plan/receivers.ts";
import { indexEvents, withEvents } from "#shared/events/outbox-rows.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { hashKey, plan } from "./service.ts";

/** A stored call, and the only states in which it may be some minutes later. */
export interface StoredCall {
  id: string;
  ends: CallState[];
  /** Requests by which its phone may ring from now on. A resend to an idempotent provider is none. */
  rings: 0 | 1;
  /** Id under which its provider has the call. */
  providerCallId?: string;
}

const timeoutSeconds = 30;
const parsed = parseDialPlan(plan, {});

export function routeOf(agent: string): Route {
  const route = findAgentRoute(agent, parsed);
  if (route === undefined) throw new Error(`the plan has no ${agent}`);
  return route;
}

/** Makes calls, and rows by the transitions that the service itself makes, the same ones each time. */
export function createCalls(storedAt: number, random: { id(): string }) {
  let numbers = 0;
  const version = () => random.id().slice(0, 20);
  const write = (at: number) => ({ version: version(), at });

  /** Returns calls of one request to numbers of their own, which nobody has (555-01xx). */
  function request(count: number, agent: string, more: Partial<Call> = {}): Call[] {
    const { acceptedAt = storedAt - 20 * minuteMs } = more;
    const requestId = withCalls(createRequestId(acceptedAt, random.id()), count);
    return Array.from({ length: count }, (_, index) => {
      const digits = String(100 + numbers++).padStart(4, "0");
      const asked: CallRequest = {
        phone_number: `+1202555${digits}`,
        agent_id: agent,
        context: { name: "Zoë", ref: `ref-${numbers}` },
        timezone: "America/New_York",
      };
      const id = toCallId(requestId, index);
      return {
        id,
        requestId,
        batchCalls: count,
        client: "crm",
        mode: "live",
        acceptedAt,
        request: asked,
        ...more,
      };
    });
  }
  const one = (agent: string, more: Partial<Call> = {}): Call => must(request(1, agent, more)[0]);
  const known = (call: Call) => ({
    call,
    ...hashNumber(call.request.phone_number, hashKey),
    echo: { ref: call.request.context?.["ref"] ?? "" },
  });

  const decided = (call: Call, decision: Decided, at = storedAt - 15 * minuteMs): CallRow =>
    must(applyDecision(undefined, { newCall: known(call), decision }, write(at)));
  const claimed = (call: Call, at: number, row?: CallRow): CallRow => {
    const route = routeOf(call.request.agent_id);
    return must(
      applyClaim(
        row,
        { newCall: known(call), route, account: accountOf(route, timeoutSeconds) },
        write(at),
      ),
    );
  };
  const settled = (
    row: CallRow,
    to: Pick<Settlement, "state" | "reason"> & Partial<Settlement>,
  ): CallRow => {
    const { id, claims, updatedAt } = row;
    const settlement = { id, claim: claims.at(-1) ?? "", at: updatedAt + 900, ...to };
    return must(applySettlement(row, settlement, version()));
  };
  const lapsed = (row: CallRow, at: number): CallRow =>
    must(expireClaim(row, at + minuteMs, write(at)));
  const missed = (row: CallRow, at: number): CallRow =>
    must(recordLookupMiss(row, storedAt - 1000, write(at)));
  const reviewed = (row: CallRow, at: number): CallRow =>
    must(requireReview(row, parsed.reviewAfterSeconds, write(at)));
  const acted = (row: CallRow, action: Parameters<typeof applyAction>[1]["action"]): CallRow =>
    must(applyAction(row, { action, by: "operator" }, write(storedAt - 4 * minuteMs)));
  /** Adds the events that the row's states have. */
  const withTold = (row: CallRow): CallRow => withEvents(row, findReceiver(row, parsed));
  /** Brings all events of a row into one state of delivery. */
  const delivered = (row: CallRow, to: { tries?: number; exhausted?: boolean } = {}): CallRow => {
    const events = withTold(row).events.map((event) => ({ ...event, dueAt: undefined, ...to }));
    return indexEvents({ ...row, events }, "crm");
  };
  /** Returns a row whose result is asked for at `pollAt`. */
  const polled = (row: CallRow, pollAt: number): CallRow => ({
    ...row,
    lane: resultsLane(routeOf(row.agentId)),
    dueAt: pollAt,
  });
  return {
    version,
    request,
    one,
    known,
    decided,
    claimed,
    settled,
    lapsed,
    missed,
    reviewed,
    acted,
    withTold,
    delivered,
    polled,
  };
}

export type Calls = ReturnType<typeof createCalls>;

/** Makes the stored calls by their names: rows in every state, each in the ways in which it may have come there. */
export function createRows(
  calls: Calls,
  storedAt: number,
): Record<string, StoredCall & { row: CallRow }> {
  const { one, decided, claimed, settled, lapsed, missed, reviewed, acted } = calls;
  const { withTold, delivered, polled } = calls;
  const ago = (minutes: number) => storedAt - minutes * minuteMs;
  const tomorrow = storedAt + 20 * hourMs;
  const waits = { state: "WAITING", reason: "outside_calling_hours", dueAt: ago(1) } as const;
  const placed = (agent: string, at: number) => {
    const row = claimed(one(agent), at);
    return settled(row, { state: "PLACED", reason: "placed", providerCallId: `ring_${row.id}` });
  };
  const unknown = (agent: string, at: number) =>
    settled(claimed(one(agent), at), {
      state: "UNKNOWN",
      reason: "time_out",
      dueAt: storedAt - 1000,
    });
  const entry = (row: CallRow, ends: CallState[], rings: 0 | 1 = 0, providerCallId?: string) => ({
    id: row.id,
    row,
    ends,
    rings,
    ...(providerCallId === undefined ? {} : { providerCallId }),
  });
  const result = { status: "completed", human: true, word: "completed" } as const;
  const times = { answeredAt: ago(8), endedAt: ago(7), seconds: 60, readAt: ago(6) };

  const replaced = one("agent_sales", { acceptedAt: ago(40) });
  const redial = one("agent_sales", { ancestors: [replaced.id] });
  const rejected = settled(claimed(replaced, ago(39)), { state: "REJECTED", reason: "http_400" });
  const resent = claimed(one("agent_safe"), ago(9));
  const resentUnknown = settled(resent, { state: "UNKNOWN", reason: "time_out", dueAt: ago(8) });
  const again = claimed(must(toCall(resentUnknown)), ago(7), resentUnknown);
  const desk = unknown("agent_desk", ago(3));
  const lost = unknown("agent_desk", ago(3));
  const lapsing = claimed(one("agent_desk"), ago(10));
  const live = placed("agent_desk", ago(2));
  const ended = placed("agent_desk", ago(10));
  const forbidden = settled(claimed(one("agent_sales"), ago(9)), {
    state: "NEEDS_REVIEW",
    reason: "http_403",
  });
  return {
    due: entry(decided(one("agent_sales"), waits), ["PLACED"], 1),
    dispatched: entry(decided(one("agent_sales"), waits), ["PLACED"], 1),
    tomorrow: entry(
      decided(one("agent_sales", { notBefore: tomorrow }), {
        state: "WAITING",
        reason: "not_before",
        dueAt: tomorrow,
      }),
      ["WAITING"],
    ),
    urgent: entry(decided(one("agent_sales", { urgent: true }), waits), ["PLACED"], 1),
    paused: entry(decided(one("agent_paused"), waits), ["WAITING"]),
    cancelled: entry(decided(one("agent_sales"), waits), ["CANCELLED"]),
    doNotCall: entry(decided(one("agent_sales"), waits), ["REJECTED"]),
    capped: entry(decided(one("agent_sales"), waits), ["EXPIRED"]),
    overdue: entry(decided(one("agent_sales", { acceptedAt: ago(361) }), waits), ["EXPIRED"]),
    redial: entry(decided(redial, waits), ["PLACED"], 1),
    retried: entry(
      settled(claimed(one("agent_sales"), ago(5)), {
        state: "WAITING",
        reason: "http_429",
        dueAt: ago(1),
      }),
      ["PLACED"],
      1,
    ),
    dialing: entry(claimed(one("agent_sales"), storedAt - 4000), ["PLACED"]),
    lapsedFound: entry(lapsing, ["PLACED"], 0, `ring_${lapsing.id}`),
    lapsedLost: entry(claimed(one("agent_sales"), ago(10)), ["NEEDS_REVIEW"]),
    unknownFound: entry(missed(desk, ago(2)), ["PLACED"], 0, `ring_${desk.id}`),
    unknownLost: entry(
      { ...lapsed(claimed(one("agent_desk"), ago(12)), ago(3)), lostUntil: ago(5) },
      ["NEEDS_REVIEW"],
    ),
    unknownAsked: entry(missed(lost, ago(2)), ["NEEDS_REVIEW"]),
    unknownSafe: entry(unknown("agent_safe", ago(1)), ["PLACED"], 1),
    resent: entry(
      settled(again, { state: "UNKNOWN", reason: "time_out", dueAt: ago(1) }),
      ["PLACED", "NEEDS_REVIEW"],
      1,
    ),
    forbidden: entry(withTold(forbidden), ["NEEDS_REVIEW"]),
    reviewed: entry(reviewed(unknown("agent_sales", ago(18)), ago(10)), ["NEEDS_REVIEW"]),
    resolved: entry(acted(reviewed(unknown("agent_sales", ago(18)), ago(10)), { to: "PLACED" }), [
      "PLACED",
    ]),
    polled: entry(withTold(polled(placed("agent_desk", ago(5)), ago(1))), ["PLACED"]),
    live: entry(
      polled(
        {
          ...live,
          result: {
            status: "live",
            human: null,
            word: null,
            endedAt: null,
            seconds: null,
            answeredAt: ago(1),
            answered: true,
          },
        },
        storedAt + 5000,
      ),
      ["PLACED"],
    ),
    ended: entry(delivered({ ...ended, result: { ...result, ...times } }), ["PLACED"]),
    exhausted: entry(
      delivered(
        { ...placed("agent_desk", ago(10)), result: { ...result, ...times, unmapped: true } },
        { tries: 10, exhausted: true },
      ),
      ["PLACED"],
    ),
    optedOut: entry(
      withTold({
        ...placed("agent_sales", ago(10)),
        optedOut: true,
        result: { ...result, ...times },
      }),
      ["PLACED"],
    ),
    called: entry(polled(placed("agent_sales", ago(4)), storedAt + 9000), ["PLACED"]),
    rejected: entry(
      withTold(
        settled(claimed(one("agent_sales"), ago(9)), { state: "REJECTED", reason: "http_422" }),
      ),
      ["REJECTED"],
    ),
    expired: entry(
      decided(one("agent_sales", { acceptedAt: ago(365) }), {
        state: "EXPIRED",
        reason: "expired",
      }),
      ["EXPIRED"],
    ),
    withdrawn: entry(
      acted(decided(one("agent_sales"), waits), { to: "CANCELLED", reason: "client" }),
      ["CANCELLED"],
    ),
    redialed: entry(acted(rejected, { to: "REDIALED", redialedAs: redial.id }), ["REDIALED"]),
  };
}

function must<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("the transitions do not allow this step");
  return value;
}
