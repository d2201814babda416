/**
 * Hours of telemarketing in US states that are stricter than federal law. Each names its law, where its words were read, and
 * the version. `missingStates` have stricter hours too, of which no primary source could be read: they are not guessed here.
 *
 * Holidays are the federal ones (5 U.S.C. 6103) and days that secondary sources name for the state: a day too many only
 * narrows the hours. Governors may declare more, which belong into `blackoutDates`.
 */
import { parseDay } from "./calling-hours.ts";
import {
  type FloatingDay,
  holidays,
  type HoursPreset,
  preset,
  weekdayIn,
  weekdayOf,
} from "./hours-presets-base.ts";

/** Days that are closed in a state beside the federal holidays. */
interface StateDays {
  dates?: string;
  fromEaster?: number[];
  floating?: FloatingDay[];
  others?(year: number): readonly number[];
}

const federalDates = "01-01 06-19 07-04 11-11 12-25";
/** Martin Luther King, Washington, Memorial Day, Labor Day, Columbus Day, Thanksgiving. */
const federalWeekdays: readonly FloatingDay[] = [
  [1, 1, 3],
  [2, 1, 3],
  [5, 1, -1],
  [9, 1, 1],
  [10, 1, 2],
  [11, 4, 4],
];

const saturday = 6;
const sunday = 0;
const monday = 1;

/** Returns a test for the holidays of a state, those on a weekend also on the Friday before or the Monday after. */
function stateHolidays({ dates = "", fromEaster = [], floating = [], others }: StateDays) {
  return holidays({
    dates: `${federalDates} ${dates}`.trim().split(" "),
    fromEaster,
    floating: [...federalWeekdays, ...floating],
    ...(others && { others }),
    substitute(day) {
      const weekday = weekdayOf(day);
      return weekday === saturday ? day - 1 : weekday === sunday ? day + 1 : day;
    },
  });
}

const areaCodes = (codes: string) => codes.split(" ").map((code) => `+1${code}`);

/**
 * Fla. Stat. 501.616(6), read on lawserver.com and in SB 1120 (2021): 8 to 20 o'clock, at most 3 calls in 24 hours on the
 * same subject, whatever number calls. https://www.flsenate.gov/Laws/Statutes/2026/501.616
 * It applies to Florida's area codes, whose holders Fla. Stat. 501.059 presumes to be residents.
 */
const florida = preset(
  { "mon-sun": ["08:00-20:00"] },
  {
    maxCalls: { count: 3, days: 1 },
    prefixes: areaCodes(
      "239 305 321 324 352 386 407 448 561 645 656 689 727 728 754 772 786 813 850 863 904 941 954",
    ),
  },
);

/**
 * La. R.S. 45:811(2), (3), read on lawserver.com, undated, looked up on 26 November 2026: 8 to 20 o'clock, no Sundays, no state
 * holidays. Added: Battle of New Orleans, Mardi Gras, Good Friday, Huey Long's birthday, All Saints.
 */
const louisiana = preset(
  { "mon-sat": ["08:00-20:00"] },
  {
    prefixes: areaCodes("225 318 337 457 504 985"),
    closedOn: stateHolidays({ dates: "01-08 08-30 11-01", fromEaster: [-47, -2] }),
  },
);

/** 201 CMR 12.02(2), read on regulations.justia.com, of 27 September 2024: 8 to 20 o'clock at the consumer's location. */
const massachusetts = preset(
  { "mon-sun": ["08:00-20:00"] },
  { prefixes: areaCodes("339 351 413 508 617 774 781 857 978") },
);

/**
 * Miss. Code 77-3-723, read on getpocketlaw.com, undated, looked up on 26 November 2026: 8 to 20 o'clock "Central Standard
 * Time", no Sundays. In summer that may mean 9 to 21 o'clock by the clocks there: the hours of both readings are open.
 */
const mississippi = preset(
  { "mon-sat": ["09:00-20:00"] },
  { prefixes: areaCodes("228 471 601 662 769") },
);

/** NMSA 57-12-22(B)(5), read on law.justia.com, of 2006: 9 to 21 o'clock. */
const newMexico = preset({ "mon-sun": ["09:00-21:00"] }, { prefixes: areaCodes("505 575") });

/**
 * R.I. Gen. Laws 5-61-3.6(a) and 5-61-2(2), read on webserver.rilin.state.ri.us (history to 1999) and instalawyer.io: Monday to
 * Friday 9 to 18 and Saturday 10 to 17 o'clock, no state or federal holidays. Added by R.I. Gen. Laws 25-1-1: Independence
 * Day of 4 May, Victory Day, days of general elections, and the Monday after a holiday on a Saturday.
 */
const rhodeIsland = preset(
  { "mon-fri": ["09:00-18:00"], sat: ["10:00-17:00"] },
  {
    prefixes: areaCodes("401"),
    closedOn: stateHolidays({
      dates: "05-04",
      floating: [[8, 1, 2]],
      others: (year) => [
        ...federalDates.split(" ").flatMap((date) => {
          const day = parseDay(`${year}-${date}`);
          return weekdayOf(day) === saturday ? day + 2 : [];
        }),
        ...(year % 2 === 0 ? [weekdayIn(year, [11, monday, 1]) + 1] : []),
      ],
    }),
  },
);

/**
 * Utah Code 13-25a-103(3), read on codes.findlaw.com, of 1 January 2025: 8 to 21 o'clock, no Sundays, no legal holidays. Added:
 * Pioneer Day, Good Friday, and by Utah Code 63G-1-301(2) the Monday before Juneteenth, or after it for a weekend.
 */
const utah = preset(
  { "mon-sat": ["08:00-21:00"] },
  {
    prefixes: areaCodes("385 435 801"),
    closedOn: stateHolidays({
      dates: "07-24",
      fromEaster: [-2],
      others(year) {
        const day = parseDay(`${year}-06-19`);
        const weekday = weekdayOf(day);
        return [weekday === saturday ? day + 2 : day + monday - weekday];
      },
    }),
  },
);

/** RCW 80.36.390(7) and 19.158.040(2), read on app.leg.wa.gov, with ESHB 1497 of 2022: 8 to 20 o'clock at the recipient. */
const washington = preset(
  { "mon-sun": ["08:00-20:00"] },
  { prefixes: areaCodes("206 253 360 425 509 564") },
);

/** Presets of states by their names in a plan. */
export const statePresets = {
  "us-florida": florida,
  "us-louisiana": louisiana,
  "us-massachusetts": massachusetts,
  "us-mississippi": mississippi,
  "us-new-mexico": newMexico,
  "us-rhode-island": rhodeIsland,
  "us-utah": utah,
  "us-washington": washington,
} satisfies Record<string, HoursPreset>;

/** Postal codes of the states that have a preset. */
export const stateCodes: Readonly<Record<string, keyof typeof statePresets>> = {
  FL: "us-florida",
  LA: "us-louisiana",
  MA: "us-massachusetts",
  MS: "us-mississippi",
  NM: "us-new-mexico",
  RI: "us-rhode-island",
  UT: "us-utah",
  WA: "us-washington",
};

/** The name by which a region of a plan has all `statePresets`. */
export const allStates = "us-states";

/** States whose hours are said to be stricter than federal law, and whose law could not be read at a primary source. */
export const missingStates: readonly string[] = "AL CT KY MD MI MN NV OK OR PA SD TX WY".split(" ");
