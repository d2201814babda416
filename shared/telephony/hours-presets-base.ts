import { getOrMake } from "../lib/get-or-make.ts";
import { type HoursRule, parseDay, weeklyHoursSchema } from "./calling-hours.ts";
import type { FrequencyCap } from "./frequency-cap.ts";
import { dayMs } from "../lib/units.ts";

/** Hours that a dial plan may name instead of writing them out. */
export interface HoursPreset extends Pick<HoursRule, "weekly" | "closedOn"> {
  maxCalls?: FrequencyCap;
  /** Prefixes of the numbers that a regional preset applies to. */
  prefixes?: readonly string[];
}

/** Returns Easter Sunday of a year, in days since 1970-01-01, after Meeus, Jones and Butcher. */
function easterOf(year: number): number {
  const [cycle, century, ofCentury] = [year % 19, Math.floor(year / 100), year % 100];
  const correction = century - Math.floor(century / 4) - Math.floor((8 * century + 13) / 25);
  const moon = (19 * cycle + correction + 15) % 30;
  const epact = moon - Math.floor((cycle + 11 * moon) / 319);
  const leaps = 2 * (century % 4) + 2 * Math.floor(ofCentury / 4) - (ofCentury % 4);
  const weekday = (leaps + 32 - epact) % 7;
  const month = Math.floor((epact + weekday + 90) / 25);
  const day = (epact + weekday + month + 19) % 32;
  return Date.UTC(year, month - 1, day) / dayMs;
}

export function weekdayOf(day: number): number {
  return new Date(day * dayMs).getUTCDay();
}

/** Returns a weekday of a month, in days since 1970-01-01. */
export function weekdayIn(year: number, [month, weekday, which]: FloatingDay) {
  // Counted from the first day of the month, or of the next one for the last.
  const begin = Date.UTC(year, which < 0 ? month : month - 1, 1) / dayMs;
  return begin + ((weekday - weekdayOf(begin) + 7) % 7) + (which < 0 ? which : which - 1) * 7;
}

/** A weekday of a month, such as the third Monday of January, `[1, 1, 3]`; -1 is the last one, and Sunday is 0. */
export type FloatingDay = readonly [month: number, weekday: number, which: number];

interface HolidayRules {
  /** Fixed dates, `MM-DD`. */
  dates: readonly string[];
  /** Days counted from Easter Sunday. */
  fromEaster?: readonly number[];
  floating?: readonly FloatingDay[];
  /** Returns further days of a year. */
  others?(year: number): readonly number[];
  /** Returns the additional day on which a fixed holiday is observed. */
  substitute?(day: number, date: string): number;
}

/** Returns a test for holidays, given in days since 1970-01-01. */
export function holidays({
  dates,
  fromEaster = [],
  floating = [],
  others = () => [],
  substitute = (day) => day,
}: HolidayRules): (day: number) => boolean {
  const years = new Map<number, Set<number>>();
  const daysOf = (year: number) => {
    const easter = easterOf(year);
    const days = new Set([...fromEaster.map((offset) => easter + offset), ...others(year)]);
    for (const one of floating) days.add(weekdayIn(year, one));
    for (const date of dates) {
      const day = parseDay(`${year}-${date}`);
      days.add(day).add(substitute(day, date));
    }
    return days;
  };
  const isIn = (year: number, day: number) => getOrMake(years, year, daysOf).has(day);
  return (day) => {
    const year = new Date(day * dayMs).getUTCFullYear();
    // New Year on a Saturday may be observed on the last day of the year before.
    return isIn(year, day) || isIn(year + 1, day);
  };
}

/** Returns a preset that parses its hours at first use, as a plan names few presets. */
export function preset(
  hours: Record<string, string[]>,
  rules: Omit<HoursPreset, "weekly"> = {},
): HoursPreset {
  let weekly: HoursPreset["weekly"] | undefined;
  return {
    ...rules,
    get weekly() {
      return (weekly ??= weeklyHoursSchema.parse(hours));
    },
  };
}
