import type { Call, Route } from "#shared/calls/call-request.ts";
import { type CallRow, createFirstRow } from "#shared/calls/call-row.ts";
import { createRequestId, toCallId } from "#shared/calls/ids.ts";
import type { callStates } from "#shared/calls/states.ts";
import { dayMs, hourMs, minuteMs } from "#shared/lib/units.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import type { RotatedKeys } from "#shared/lib/rotated-keys.ts";
import type { Chance } from "./random.ts";
import { agentIds, checkNames } from "./random-plan.ts";

/** No test clients: the sandbox has one answer for each of its numbers. */
const clients = ["crm", "shop"] as const;
const numbers = [
  "+12125550123",
  "+13035550124",
  "+13035550128",
  "+12125550129",
  "+14155550130",
  "+442079460125",
  "+14165550126",
  "+19005550127",
  "+525512345678",
  "+33140205050",
] as const;
const zones = ["America/New_York", "America/Denver", "Europe/London", "UTC", "+05:30"] as const;

/** Returns a call that was accepted at most some days before `now`; one that is fresh, just now. */
export function randomCall(
  chance: Chance,
  { now, index, isFresh }: { now: number; index: number; isFresh: boolean },
): Call {
  const { is, one, below } = chance;
  const age = isFresh ? 0 : one([0, 1_000, 4_000, 6_000, 20 * minuteMs, 5 * hourMs, 3 * dayMs]);
  const acceptedAt = now - age;
  const requestId = createRequestId(
    acceptedAt,
    below(2 ** 30)
      .toString(16)
      .padStart(32, "0"),
  );
  const ancestorAt = acceptedAt - one([minuteMs, hourMs]);
  const ancestor = toCallId(createRequestId(ancestorAt, "1".repeat(32)), index);
  return {
    id: toCallId(requestId, index),
    requestId,
    batchCalls: 3,
    client: one(clients),
    mode: "live",
    acceptedAt,
    request: {
      phone_number: one(numbers),
      agent_id: one(agentIds),
      ...(is(0.3) ? { context: { name: is(0.5) ? "Ada" : "x".repeat(3_000) } } : {}),
      ...(is(0.6) ? { timezone: one(zones) } : {}),
    },
    ...(is(isFresh ? 0.05 : 0.2)
      ? { notBefore: now + one([-hourMs, -1, 0, 4_000, 6_000, 3 * hourMs]) }
      : {}),
    ...(is(0.2) ? { urgent: true as const } : {}),
    ...(is(0.15) ? { ancestors: [ancestor] } : {}),
    ...(is(0.1)
      ? { tries: { number: 2, budget: 3, until: now + one([-1, hourMs]), dialedAt: [] } }
      : {}),
  };
}

const reasons = [
  "turn",
  "max_calls",
  "hours:callingHours.nine",
  "paused",
  "check_wait:crm",
] as const;

/** Returns a row of a call: one that waits, one of unknown outcome, or any other; undefined: it has none. */
export function randomRow(
  chance: Chance,
  {
    call,
    route,
    now,
    hashKeys,
  }: { call: Call; route: Route | undefined; now: number; hashKeys: RotatedKeys },
): CallRow | undefined {
  const { is, one, fraction } = chance;
  const kind = fraction();
  if (kind < 0.3) return undefined;
  const first = createFirstRow({
    call,
    ...hashNumber(call.request.phone_number, hashKeys.current),
  });
  const updatedAt = Math.max(call.acceptedAt, now - one([0, 1_000, minuteMs, hourMs]));
  const checks = checkNames.flatMap((check) =>
    is(0.5) ? { check, at: now - one([-hourMs, 20_000, 2 * minuteMs]) } : [],
  );
  const row: CallRow = {
    ...first,
    version: `v${call.id.slice(-5)}`,
    reason: one(reasons),
    dueAt: now + one([-hourMs, -1, 0, 0, 1, 3_000, 4_999, 5_000, 5_001]),
    updatedAt,
    history: [
      {
        at: updatedAt,
        state: "WAITING",
        reason: one(reasons),
        ...(checks.length > 0 && is(0.6) ? { checks } : {}),
      },
    ],
  };
  if (kind < 0.75) return { ...row, state: "WAITING" };
  const claimedAt = now - one([1_000, minuteMs, 20 * minuteMs]);
  const claimed = { ...row, claims: [`v${call.id.slice(-5)}`], attempt: 1, claimedAt };
  if (kind < 0.95) {
    return {
      ...claimed,
      state: "UNKNOWN",
      lane: "watch",
      route: route ?? row.route,
      unknownSince: now - one([0, minuteMs, minuteMs, 5 * minuteMs, 2 * hourMs]),
      lostUntil: is(0.1) ? now - minuteMs : null,
    };
  }
  const others = [
    "DIALING",
    "PLACED",
    "NEEDS_REVIEW",
    "EXPIRED",
  ] as const satisfies readonly (typeof callStates)[number][];
  return { ...claimed, state: one(others), route: route ?? null };
}
