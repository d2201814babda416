import type { RouteTable } from "../dial-plan/route-table.ts";
import type { Call, CallRequest, Route } from "../calls/call-request.ts";
import { type CallRow, headersOf } from "../calls/call-row.ts";
import { requestIdOf } from "../calls/ids.ts";
import { chainOf, isCallBackNext } from "../calls/chain.ts";
import { isContradicted } from "../calls/ended.ts";
import { mayBeTriedAgain, type NextTry, toCallBackTries, toTryId } from "../calls/tries.ts";
import { findRetry } from "../dial-plan/dial-plan.ts";
import type { DialPlan } from "../dial-plan/plan-schema.ts";
import type { RetryRule } from "../dial-plan/retry-rules.ts";
import type { Schedule } from "../dial-plan/schedule.ts";
import { dayMs, hourMs } from "../lib/units.ts";
import { findZone } from "../telephony/time-zone.ts";
import { zoneNamesOf } from "../telephony/zones-of-number.ts";

/** Facts by which the calls that follow others are planned. */
export interface TryInputs {
  table: RouteTable;
  schedule: Pick<Schedule, "opening">;
  now: number;
}

/**
 * Returns the try that follows a placed call whose result has just become known; undefined if none does: by its result,
 * as its budget or its time is used up, as its callee has opted out, as an operator has acted on it, or as its end is contradicted.
 */
export function planNextTry(
  row: CallRow,
  { table, schedule, now }: TryInputs,
): NextTry | undefined {
  const { tries, request, result, claimedAt, agentId, optedOut } = row;
  const { plan } = table;
  const rule = findRetry(agentId, plan);
  const route = table.find(row);
  if (tries === undefined || request === null || result === null || claimedAt === null)
    return undefined;
  if (rule === undefined || route === undefined || optedOut || !mayBeTriedAgain(row, now))
    return undefined;
  if (tries.number >= rule.attempts || isContradicted(row)) return undefined;
  const delayMs = delayAfter(result.status, rule);
  if (delayMs === undefined) return undefined;
  const until = Math.min(tries.until, row.acceptedAt + plan.expireAfterHours * hourMs);
  // The provider's clock is not ours, but the call surely ended after it was dialed, and before now.
  const endedAt = Math.min(Math.max(result.endedAt ?? now, claimedAt), now);
  const from = Math.max(now, endedAt + delayMs);
  const opening = (at: number) =>
    findFirstTime({ request, route }, { from: at, until }, { schedule });
  const first = from < until ? opening(from) : undefined;
  if (first === undefined) return undefined;
  const isSpread = rule.spread && (result.status === "no_answer" || result.status === "voicemail");
  const other = isSpread
    ? findOtherPart(first, {
        opening,
        until,
        tried: [...tries.dialedAt, claimedAt],
        clocks: clocksOf(request, plan),
      })
    : undefined;
  return toNextTry(row, tries.number, Math.ceil(other ?? first));
}

/** Returns the first permitted time of a call in a span; undefined if there is none. */
export function findFirstTime(
  { request, route }: { request: CallRequest; route: Route },
  span: { from: number; until: number },
  { schedule }: Pick<TryInputs, "schedule">,
): number | undefined {
  return schedule.opening(request, route, span).at;
}

/** Names the call that follows a row: by the chain and its place there, and never by what it is. */
export function toNextTry(row: CallRow, number: number, dueAt: number): NextTry {
  return { id: toTryId(chainOf(row), number + 1), dueAt };
}

/** Returns the call of a row's next try, or of its call-back. Undefined: the row has none, or its number is erased. */
export function toNextCall(row: CallRow): Call | undefined {
  const { id, next, tries, request, client, mode, acceptedAt, ancestors, claimedAt } = row;
  if (next === undefined || tries === undefined || request === null) return undefined;
  const number = tries.number + 1;
  const own = isCallBackNext(row)
    ? toCallBackTries(tries, number, next.dueAt)
    : { ...tries, number };
  return {
    id: next.id,
    requestId: requestIdOf(next.id),
    batchCalls: 1,
    client,
    mode,
    acceptedAt,
    request,
    ...headersOf(row),
    ancestors: [...ancestors, id],
    tries: {
      ...own,
      dialedAt: claimedAt === null ? tries.dialedAt : [...tries.dialedAt, claimedAt],
    },
  };
}

function delayAfter(status: string, { after }: RetryRule): number | undefined {
  switch (status) {
    case "busy":
    case "no_answer":
    case "voicemail":
    case "failed":
      return after[status];
    default:
      return undefined;
  }
}

/** Hours at which a new part of the callee's day begins. */
const partHours = [0, 11, 14, 17];

/** Returns the callee's local time at `at`, as milliseconds of UTC; undefined if it is not known. */
type LocalClock = (at: number) => number | undefined;

/** Returns the clocks of all zones in which the callee may be. */
function clocksOf(request: CallRequest, plan: DialPlan): LocalClock[] {
  return zoneNamesOf(request, plan.defaultTimeZone).map((name) => {
    const zone = findZone(name);
    return (at) => {
      const offsetMs = zone?.clocks[0](at)?.offsetMs;
      return offsetMs === undefined ? undefined : at + offsetMs;
    };
  });
}

/**
 * Returns the first time from `first` on in a part of the callee's day in which no try was made. Undefined: every open
 * part until the end was tried, or local time is not known.
 */
function findOtherPart(
  first: number,
  facts: {
    opening(at: number): number | undefined;
    until: number;
    tried: readonly number[];
    clocks: readonly LocalClock[];
  },
): number | undefined {
  const { opening, until, tried, clocks } = facts;
  const partOf = (local: number) => partHours.findLastIndex((hour) => hourOf(local) >= hour);
  const localTimes = (at: number) =>
    clocks.map((clock) => clock(at)).filter((local) => local !== undefined);
  // Where the callee may be in several zones, a part of the day counts as tried if it was so in any of them.
  const done = clocks.map(
    (clock) =>
      new Set(
        tried.flatMap((at) => {
          const local = clock(at);
          return local === undefined ? [] : partOf(local);
        }),
      ),
  );
  let at: number | undefined = first;
  // At most 30 days (`within`), each of four parts in each zone; a change of the clocks may split a part.
  for (let parts = 0; at !== undefined && at < until && parts < partsMax; parts++) {
    const locals = localTimes(at);
    if (locals.length === 0 || locals.length < clocks.length) return undefined;
    if (locals.every((local, zone) => done[zone]?.has(partOf(local)) === false)) return at;
    const untilNext = locals.map((local) => {
      const begun = Math.floor(local / dayMs) * dayMs;
      return begun + (partHours[partOf(local) + 1] ?? 24) * hourMs - local;
    });
    at = opening(at + Math.min(...untilNext));
  }
  return undefined;
}

const partsMax = 600;

function hourOf(local: number): number {
  return (local % dayMs) / hourMs;
}
