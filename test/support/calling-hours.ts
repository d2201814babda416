import {
  parseDay,
  type HoursRule,
  nextOpening,
  weeklyHoursSchema,
} from "#shared/telephony/calling-hours.ts";
import { findZone } from "#shared/telephony/time-zone.ts";

export const minuteMs = 60_000;
export const dayMs = 86_400_000;
export const searchedMs = 10 * dayMs;

/** A rule as written in a dial plan. */
export interface Written {
  hours: Record<string, string[]>;
  dates: string[];
}

export const ruleOf = ({ hours, dates }: Written, name = "rule"): HoursRule => {
  const days = new Set(dates.map(parseDay));
  const weekly = weeklyHoursSchema.parse(hours);
  return { name, weekly, ...(dates.length > 0 ? { closedOn: (day) => days.has(day) } : {}) };
};
export const zones = (...names: string[]) =>
  names.map(findZone).filter((zone): zone is NonNullable<typeof zone> => zone !== undefined);
export const opening = (
  written: Written[],
  names: string[],
  from: number,
  { until = from + searchedMs, marginMs = 0 } = {},
) =>
  nextOpening(
    { rules: written.map((one, index) => ruleOf(one, `rule ${index}`)), zones: zones(...names) },
    { from, until, marginMs },
  );
