import * as z from "../lib/zod.ts";
import type { Clock, Zone } from "./time-zone.ts";
import { dayMs, minuteMs } from "../lib/units.ts";

const weekMs = 7 * dayMs;
/** 1970-01-01 was a Thursday; weeks begin on Monday here. */
const thursdayMs = 3 * dayMs;

/** An interval of the local week, in milliseconds from Monday 00:00; `end` is exclusive. */
interface WeeklyInterval {
  start: number;
  end: number;
}

/** One rule about the hours in which people may be phoned, in their local time. */
export interface HoursRule {
  /** Path of the rule in the dial plan, such as `callingHours.office`. It becomes the reason of a wait. */
  name: string;
  /** Sorted; the intervals neither overlap nor touch. */
  weekly: readonly WeeklyInterval[];
  /** Returns true for a local date, in days since 1970-01-01, that is closed all day. */
  closedOn?: (day: number) => boolean;
}

const dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/**
 * Hours of a week in the callee's local time, such as `{"mon-fri": ["09:00-12:00", "13:00-18:00"], "sat":
 * ["22:00-02:00"]}`: by day or range of days, each day once. An interval whose end lies before its start ends
 * on the next day, within twelve hours. `24:00` is the end of a day. Days not named are closed.
 */
export const weeklyHoursSchema = z.pipe(
  z.record(z.string(), z.array(z.string())),
  z.transform((hours, { issues }): WeeklyInterval[] => {
    const refuse = (path: PropertyKey[], message: string) =>
      issues.push({ code: "custom", path, message, input: undefined });
    const intervals: WeeklyInterval[] = [];
    const named = new Set<number>();
    for (const [range, texts] of Object.entries(hours)) {
      const days = daysOf(range);
      if (days.length === 0) {
        refuse([range], 'must be like "mon" or "mon-fri"');
      }
      for (const day of days) {
        if (named.has(day)) {
          refuse([range], `names ${dayNames[day]} a second time: which hours hold?`);
        }
        named.add(day);
      }
      for (const [index, text] of texts.entries()) {
        const interval = intervalOf(text);
        if (interval === undefined) {
          const message =
            'must be like "09:00-17:30", or past midnight "22:00-02:00", of 12 hours at most';
          refuse([range, index], message);
        } else {
          intervals.push(
            ...days.map((day) => ({
              start: day * dayMs + interval.start,
              end: day * dayMs + interval.end,
            })),
          );
        }
      }
    }
    if (intervals.length === 0) refuse([], "must be open at some time of the week");
    return merged(intervals);
  }),
);

/** Returns the days of `mon`, `mon-fri` or `sat-mon`, Monday being 0; empty if `range` has another form. */
function daysOf(range: string): number[] {
  const [first, last, ...more] = range.split("-").map((day) => dayNames.indexOf(day));
  if (first === undefined || first < 0 || last === -1 || more.length > 0) return [];
  const count = last === undefined ? 1 : ((last - first + 7) % 7) + 1;
  return Array.from({ length: count }, (_, index) => (first + index) % 7);
}

function intervalOf(text: string): WeeklyInterval | undefined {
  const found = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/.exec(text);
  if (found === null) return undefined;
  const [startHour = 0, startMinute = 0, endHour = 0, endMinute = 0] = found.slice(1).map(Number);
  if (startMinute > 59 || endMinute > 59) return undefined;
  const start = (startHour * 60 + startMinute) * minuteMs;
  const end = (endHour * 60 + endMinute) * minuteMs;
  if (start >= dayMs || end > dayMs || start === end) return undefined;
  if (end > start) return { start, end };
  // 09:00-05:00 most likely means 17:00. A real one can be written as two intervals.
  return end + dayMs - start <= dayMs / 2 ? { start, end: end + dayMs } : undefined;
}

/** Cuts intervals at the end of the week, sorts them, and joins those that overlap or touch. */
function merged(intervals: WeeklyInterval[]): WeeklyInterval[] {
  const cut = intervals.flatMap(({ start, end }) =>
    end <= weekMs
      ? { start, end }
      : [
          { start, end: weekMs },
          { start: 0, end: end - weekMs },
        ],
  );
  const all: WeeklyInterval[] = [];
  for (const interval of cut.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last !== undefined && interval.start <= last.end) {
      last.end = Math.max(last.end, interval.end);
    } else all.push({ ...interval });
  }
  return all;
}

/** The whole week, for a rule that closes on dates alone. */
export const allWeek: readonly WeeklyInterval[] = [{ start: 0, end: weekMs }];

/** Converts a local date `YYYY-MM-DD` to days since 1970-01-01. */
export function parseDay(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMs;
}

/** The hours of a call. Every rule must be open by every clock of every zone in which the number may be. */
export interface CallHours {
  rules: readonly HoursRule[];
  zones: readonly Zone[];
}

/**
 * Time from which a call may be made (undefined: never). `closedBy` is, of the rules that were closed first, the one that
 * stays closed longest; absent if the call may be made at once.
 */
export type Opening = { at: number; closedBy?: string } | { at: undefined; closedBy: string };

/** True if all rules are open from `at` (milliseconds since the epoch) for at least `marginMs`. */
export function isOpen(hours: CallHours, at: number, marginMs = 0): boolean {
  return nextOpening(hours, { from: at, until: at + 1, marginMs }).at !== undefined;
}

/**
 * Returns the first time in [`from`, `until`) from which all rules are open for at least `marginMs`. The search steps
 * from one change of a rule or a clock to the next, so its result is exact: local time that is skipped when clocks go
 * forward never matches, and local time that repeats matches twice. All times are milliseconds since the epoch.
 */
export function nextOpening(
  { rules, zones }: CallHours,
  { from, until, marginMs }: { from: number; until: number; marginMs: number },
): Opening {
  if (rules.length > 0 && zones.length === 0) return { at: undefined, closedBy: "no_time_zone" };
  let closedBy: string | undefined;
  let openSince: number | undefined;
  let at = from;
  while ((openSince ?? at) < until) {
    let closedUntil = at;
    let openUntil = Number.POSITIVE_INFINITY;
    const closed = new Set<HoursRule>();
    for (const rule of rules) {
      for (const zone of zones) {
        for (const clock of zone.clocks) {
          const span = spanOf(rule, clock, at);
          // After the table's end no rule counts as open. `npm run tables` extends the table.
          if (span === undefined) {
            const [first] = closed;
            return { at: undefined, closedBy: closedBy ?? first?.name ?? "no_clock" };
          }
          if (span.open) openUntil = Math.min(openUntil, span.until);
          else {
            closed.add(rule);
            closedUntil = Math.max(closedUntil, span.until);
          }
        }
      }
    }
    if (closedUntil > at) {
      closedBy ??= longestClosed([...closed], zones, { from: at, until })?.name;
      openSince = undefined;
      at = closedUntil;
    } else {
      openSince ??= at;
      if (openUntil - openSince >= marginMs) {
        return closedBy === undefined ? { at: openSince } : { at: openSince, closedBy };
      }
      at = openUntil;
    }
  }
  return { at: undefined, closedBy: closedBy ?? "expired" };
}

/** Returns the rule that opens last, the first one of equals. */
function longestClosed(
  closed: readonly HoursRule[],
  zones: readonly Zone[],
  { from, until }: { from: number; until: number },
): HoursRule | undefined {
  if (closed.length < 2) return closed[0];
  const opensAt = (rule: HoursRule) =>
    nextOpening({ rules: [rule], zones }, { from, until, marginMs: 0 }).at ?? Infinity;
  const all = closed.map((rule) => ({ rule, at: opensAt(rule) }));
  return all.reduce((longest, one) => (one.at > longest.at ? one : longest)).rule;
}

/**
 * Returns whether a rule is open at `at`, and a time until which that does not change. Undefined after the clock's
 * end.
 */
function spanOf(
  { weekly, closedOn }: HoursRule,
  clock: Clock,
  at: number,
): { open: boolean; until: number } | undefined {
  const span = clock(at);
  if (span === undefined) return undefined;
  const local = at + span.offsetMs;
  const untilLocal = (open: boolean, end: number) => ({
    open,
    until: Math.min(end - span.offsetMs, span.until),
  });
  const day = Math.floor(local / dayMs);
  const midnight = (day + 1) * dayMs;
  if (closedOn?.(day) === true) return untilLocal(false, midnight);
  const weekStart = Math.floor((local + thursdayMs) / weekMs) * weekMs - thursdayMs;
  const ofWeek = local - weekStart;
  const next = weekly.find(({ end }) => ofWeek < end);
  const open = next !== undefined && ofWeek >= next.start;
  const end = weekStart + (next === undefined ? weekMs : open ? next.end : next.start);
  return untilLocal(open, closedOn === undefined ? end : Math.min(end, midnight));
}
