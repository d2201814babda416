import type { CallRequest } from "../calls/call-request.ts";
import type { CallRow } from "../calls/call-row.ts";
import { hasEnded, isContradicted } from "../calls/ended.ts";
import { callBackLateMs, type CallBackRefusal, wishField } from "../calls/tries.ts";
import { findCallBacks } from "../dial-plan/dial-plan.ts";
import { dayMs, hourMs, minuteMs } from "../lib/units.ts";
import { findFirstTime, type TryInputs } from "./next-try.ts";
import { findZone, type Zone } from "../telephony/time-zone.ts";
import { zoneNamesOf } from "../telephony/zones-of-number.ts";

/** A callee's wish to be called back, as a provider reports it, and the call that it is about. */
interface Wish {
  /** Value of the provider's field: a text, or anything else. */
  wished: unknown;
  /** The call, from its row or from the row that follows it. Null: the number is erased. */
  request: CallRequest | null;
}

/** The time for which a call-back is promised, or why none is. */
export type CallBackDecision = { at: number } | { reason: CallBackRefusal };

/** Call-backs of a redial, and of a call that was accepted before its agent had `callBacks`. */
const noCallBacks = { most: 0, made: 0, until: 0 };

/**
 * Decides about the wish of a placed call's callee to be called back: at the first permitted time from then on. The
 * wish is judged against the call's end, however late it is read; a wish that is overdue by more than two hours is
 * too late.
 *
 * @returns undefined if the agent's callees are not called back
 */
export function decideCallBack(
  row: CallRow,
  { wished, request }: Wish,
  { table, schedule, now }: TryInputs,
): CallBackDecision | undefined {
  const { tries, result, claimedAt, agentId, acceptedAt, optedOut, history } = row;
  const rule = findCallBacks(agentId, table.plan);
  if (rule === undefined) return undefined;
  // A record may repeat the context: the callee has not wished what the client wrote there.
  if (wished !== undefined && request?.context?.[wishField] === wished) return undefined;
  if (optedOut) return { reason: "opted_out" };
  const { most, made, until } = tries?.callBacks ?? noCallBacks;
  if (made >= Math.min(most, rule.most)) return { reason: "too_many" };
  // No call-back follows a call whose end stays unknown, and its number is erased.
  const isOver =
    !hasEnded(result) || isContradicted(row) || history.some(({ by }) => by !== undefined);
  if (isOver || request === null) return { reason: "too_late" };
  const asked = readWish(wished, request);
  if (typeof asked === "string") return { reason: asked };
  const end = Math.min(until, acceptedAt + rule.within);
  // The provider's clock differs from ours, but the call certainly ended after it was dialed, and before now.
  const endedAt = Math.min(Math.max(result?.endedAt ?? now, claimedAt ?? now), now);
  if (asked <= endedAt) return { reason: "past" };
  if (asked >= end) return { reason: "too_far" };
  if (asked + callBackLateMs < now) return { reason: "too_late" };
  const route = table.find(row);
  const from = Math.max(asked, now);
  const at = route && findFirstTime({ request, route }, { from, until: end }, { schedule });
  return at === undefined ? { reason: "too_far" } : { at: Math.ceil(at) };
}

/** A date and a time of RFC 3339, with or without a zone. */
const timePattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::([0-5]\d)(?:\.\d{1,9})?)?(?:([Zz])|([+-])(\d\d):(\d\d))?$/;

/**
 * Returns the time of a wish, in milliseconds since the epoch. A local one is in the call's `timezone`, else in the
 * number's zones, which must agree.
 */
function readWish(wished: unknown, request: CallRequest): number | CallBackRefusal {
  const found = typeof wished === "string" ? timePattern.exec(wished.trim()) : null;
  if (found === null) return "unreadable";
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((digits) => Number(digits ?? 0));
  const local = Date.UTC(year, month - 1, day, hour, minute, second);
  const isDay = new Date(local).getUTCDate() === day && new Date(local).getUTCMonth() === month - 1;
  if (!isDay || hour > 23 || minute > 59) return "unreadable";
  const [zulu, sign, hours, minutes] = found.slice(7);
  if (zulu !== undefined) return local;
  if (sign !== undefined) {
    const offsetMs = Number(hours) * hourMs + Number(minutes) * minuteMs;
    if (Number(hours) > 23 || Number(minutes) > 59) return "unreadable";
    return sign === "-" ? local + offsetMs : local - offsetMs;
  }
  const { timezone } = request;
  const names = timezone === undefined ? zoneNamesOf(request, undefined) : [timezone];
  const times = names.map((name) => {
    const zone = findZone(name);
    return zone && timeIn(zone, local);
  });
  const [at] = times;
  return at === undefined || times.some((one) => one !== at) ? "zone_unknown" : at;
}

/**
 * Returns the time at which a zone's clocks show a local time: of two the second, and one that a change of the clocks skips
 * is moved forward. Undefined past the end of the zone's table.
 */
function timeIn({ clocks: [clock] }: Zone, local: number): number | undefined {
  const before = clock(local - dayMs)?.offsetMs;
  const after = clock(local + dayMs)?.offsetMs;
  if (before === undefined || after === undefined) return undefined;
  const times = [local - before, local - after];
  const shown = times.filter((at) => at + (clock(at)?.offsetMs ?? NaN) === local);
  return Math.max(...(shown.length > 0 ? shown : times));
}
