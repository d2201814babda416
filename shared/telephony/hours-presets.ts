import { holidays, type HoursPreset, preset, weekdayOf } from "./hours-presets-base.ts";
import { statePresets } from "./state-presets.ts";

const saturday = 6;
const sunday = 0;

/**
 * 8 to 21 o'clock every day at the called party's location: 47 CFR 64.1200(c)(1), and 16 CFR 310.4(c).
 * https://www.ecfr.gov/current/title-47/chapter-I/subchapter-B/part-64/subpart-L/section-64.1200
 * Several states are stricter: see state-presets.ts.
 */
const usFederal = preset({ "mon-sun": ["08:00-21:00"] });

/**
 * Monday to Friday 9:00 to 21:30, Saturday and Sunday 10 to 18 o'clock: CRTC Unsolicited Telecommunications
 * Rules, Part III, sections 23 and 24, which name no holidays. https://crtc.gc.ca/eng/trules-reglest.htm
 * Provinces may be stricter (British Columbia keeps statutory holidays).
 */
const canada = preset({ "mon-fri": ["09:00-21:30"], "sat-sun": ["10:00-18:00"] });

/**
 * Monday to Friday 10 to 13 and 14 to 20 o'clock, no public holidays, at most 4 calls in 30 days: article D223-9
 * of the Code de la consommation (décret 2022-1313); holidays of article L3133-1 of the Code du travail.
 * https://www.legifrance.gouv.fr/jorf/id/JORFTEXT000046421823
 * Since 11 August 2026 a consumer must have agreed beforehand (loi 2025-594): hours alone permit nothing.
 */
const france = preset(
  { "mon-fri": ["10:00-13:00", "14:00-20:00"] },
  {
    closedOn: holidays({
      dates: ["01-01", "05-01", "05-08", "07-14", "08-15", "11-01", "11-11", "12-25"],
      fromEaster: [1, 39, 50], // Easter Monday, Ascension, Whit Monday
    }),
    maxCalls: { count: 4, days: 30 },
  },
);

/**
 * Monday to Friday 9 to 21 o'clock, no holidays: Real Decreto Legislativo 1/2007, article 96.2.
 * https://www.boe.es/buscar/act.php?id=BOE-A-2007-20555
 * The holidays of all Spain, Epiphany, and the Monday after one that falls on a Sunday, which most regions
 * keep. Holidays of a region or a town belong into `blackoutDates`.
 */
const spain = preset(
  { "mon-fri": ["09:00-21:00"] },
  {
    closedOn: holidays({
      dates: "01-01 01-06 05-01 08-15 10-12 11-01 12-06 12-08 12-25".split(" "),
      fromEaster: [-2], // Good Friday
      substitute: (day) => (weekdayOf(day) === sunday ? day + 1 : day),
    }),
  },
);

/**
 * Monday to Friday 9 to 20 o'clock, Saturday 9 to 17, no Sundays, no national public holidays:
 * Telecommunications (Telemarketing and Research Calls) Industry Standard 2017, which lapses on 1 April 2027
 * unless it is renewed. https://www.legislation.gov.au/F2017L00323/latest/text
 * The holidays are those of every state, and the weekdays that stand in for them.
 */
const australia = preset(
  { "mon-fri": ["09:00-20:00"], sat: ["09:00-17:00"] },
  {
    closedOn: holidays({
      dates: ["01-01", "01-26", "04-25", "12-25", "12-26"],
      fromEaster: [-2, 1], // Good Friday, Easter Monday
      substitute: (day, date) => {
        const weekday = weekdayOf(day);
        if ((weekday !== saturday && weekday !== sunday) || date === "04-25") return day;
        if (date === "12-25" || date === "12-26") return day + 2; // 27 or 28 December
        return weekday === saturday ? day + 2 : day + 1;
      },
    }),
  },
);

/**
 * 9 to 21 o'clock every day: Telecom Commercial Communications Customer Preference Regulations 2010. The regulations
 * of 2018 use time bands that each customer chose, which this preset does not know: many callers start at 10 o'clock.
 * https://trai.gov.in/preference-registration
 */
const india = preset({ "mon-sun": ["09:00-21:00"] });

/**
 * Legal hours for telemarketing, by name. They cover hours only, not consent, do-not-call registers or rules about
 * automated voices, and are no legal advice.
 */
export const presets: Readonly<Record<string, HoursPreset>> = {
  "us-federal": usFederal,
  ...statePresets,
  canada,
  france,
  spain,
  australia,
  india,
};
