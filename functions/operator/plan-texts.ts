import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { findHours } from "#shared/dial-plan/plan-hours.ts";
import type { HoursRule } from "#shared/telephony/calling-hours.ts";
import type { FrequencyCap } from "#shared/telephony/frequency-cap.ts";
import type { HoursPreset } from "#shared/telephony/hours-presets-base.ts";
import { dayMs, minuteMs } from "#shared/lib/units.ts";
import { costlyServices } from "#shared/telephony/phone-number.ts";

const weekMs = 7 * dayMs;
const dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const decimals = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** Describes hours by their name in the plan or written out: `Mon–Fri 9:00–21:00 in the callee's zone`. */
export function hoursText(hours: DialPlan["callingHours"][string], plan: DialPlan): string {
  const set = findHours(hours, plan);
  if (set === undefined) return "at any time";
  const weekly = weeklyText(set.weekly);
  const holidays = set.closedOn === undefined ? "" : ", not on public holidays";
  return `${weekly} in the callee's zone${holidays}`;
}

/** Describes the caps of a rule, including those of its hours' preset; undefined if there are none. */
export function capsText(
  hours: DialPlan["callingHours"][string] | undefined,
  maxCalls: FrequencyCap | undefined,
  plan: DialPlan,
): string | undefined {
  const set: HoursPreset | undefined = hours === undefined ? undefined : findHours(hours, plan);
  const caps = [maxCalls, set?.maxCalls].filter((cap) => cap !== undefined);
  return caps.length === 0 ? undefined : caps.map(capText).join(", and ");
}

function capText({ count, days }: FrequencyCap): string {
  const calls = count === 1 ? "1 call" : `${count} calls`;
  if (days === 1) return `${calls} in 24 hours`;
  return days < 1
    ? `${calls} in ${decimals.format(days * 24)} hours`
    : `${calls} in ${decimals.format(days)} days`;
}

/** Describes the hours of a week, grouping days: `Mon–Fri 9:00–12:00 and 13:00–18:00, Sat 10:00–14:00`. */
export function weeklyText(weekly: HoursRule["weekly"]): string {
  const hours = weekly.flatMap(partsOf);
  const texts = dayNames.map((_, day) =>
    hours
      .filter(({ start }) => Math.floor(start / dayMs) === day)
      .map(({ start, end }) => `${clockText(start - day * dayMs)}–${clockText(end - day * dayMs)}`)
      .join(" and "),
  );
  const groups: { first: number; last: number; text: string }[] = [];
  for (const [day, text] of texts.entries()) {
    const group = groups.at(-1);
    if (group?.text === text) group.last = day;
    else groups.push({ first: day, last: day, text });
  }
  const open = groups.filter(({ text }) => text !== "");
  if (open.length === 0) return "never";
  return open
    .map(({ first, last, text }) => `${daysText(first, last)} ${text}`)
    .join(", ")
    .replace(/^every day 0:00–24:00$/, "at any time");
}

/** Splits an interval at midnights, unless it ends within twelve hours of the first one, like a night shift. */
function partsOf({ start, end }: HoursRule["weekly"][number]): { start: number; end: number }[] {
  const midnight = (Math.floor(start / dayMs) + 1) * dayMs;
  if (end <= midnight || (end - midnight < dayMs / 2 && end - start < dayMs && end < weekMs)) {
    return [{ start, end }];
  }
  return [{ start, end: midnight }, ...partsOf({ start: midnight, end })];
}

function daysText(first: number, last: number): string {
  if (first === 0 && last === 6) return "every day";
  const names = [dayNames[first], dayNames[last]];
  return first === last ? `${names[0]}` : names.join("–");
}

/** Describes a time of day, given in milliseconds from midnight. After 24:00 it is of the next day. */
function clockText(ofDay: number): string {
  const minutes = Math.round(ofDay / minuteMs);
  const hour = minutes > 24 * 60 ? Math.floor(minutes / 60) - 24 : Math.floor(minutes / 60);
  return `${hour}:${String(minutes % 60).padStart(2, "0")}`;
}

/** Describes a rate: `1 call in 10 s` below one a second, otherwise `20 calls a second`. */
export function paceText(callsPerSecond: number | undefined, burst: number): string {
  if (callsPerSecond === undefined) return "no limit of calls a second";
  const rate =
    callsPerSecond < 1
      ? `1 call in ${decimals.format(1 / callsPerSecond)} s`
      : `${decimals.format(callsPerSecond)} ${callsPerSecond === 1 ? "call" : "calls"} a second`;
  return burst === 1 ? rate : `${rate}, ${burst} at once after a pause`;
}

/** Describes the permitted destinations. */
export function destinationsText({
  destinations: { allow, deny, allowServices },
}: DialPlan): string {
  const allowed = allow.includes("*") ? "everywhere" : allow.join(", ");
  const services = costlyServices.filter((service) => !allowServices.includes(service));
  const denied = [...deny, ...services.map((service) => `${service} numbers`)];
  return denied.length === 0 ? allowed : `${allowed}, but not ${denied.join(", ")}`;
}
