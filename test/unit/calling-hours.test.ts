import * as fc from "fast-check";
import moment from "moment-timezone";
import packed from "moment-timezone/data/packed/latest.json" with { type: "json" };
import { describe, expect, it } from "vitest";
import {
  dayOf,
  type HoursRule,
  isOpen,
  nextOpening,
  weeklyHoursSchema,
} from "../../shared/schedule/calling-hours.ts";
import { zoneOf } from "../../shared/schedule/time-zone.ts";
import table from "../../shared/schedule/time-zones.json" with { type: "json" };
import { localTime } from "../support/local-time.ts";

moment.tz.load(packed);
const minuteMs = 60_000;
const dayMs = 86_400_000;
const searchedMs = 10 * dayMs;

/** A rule as written in a dial plan. */
interface Written {
  hours: Record<string, string[]>;
  dates: string[];
}

const ruleOf = ({ hours, dates }: Written, name = "rule"): HoursRule => {
  const days = new Set(dates.map(dayOf));
  const weekly = weeklyHoursSchema.parse(hours);
  return { name, weekly, ...(dates.length > 0 ? { closedOn: (day) => days.has(day) } : {}) };
};
const zones = (...names: string[]) =>
  names.map(zoneOf).filter((zone): zone is NonNullable<typeof zone> => zone !== undefined);
const opening = (
  written: Written[],
  names: string[],
  from: number,
  { until = from + searchedMs, marginMs = 0 } = {},
) =>
  nextOpening(
    { rules: written.map((one, index) => ruleOf(one, `rule ${index}`)), zones: zones(...names) },
    { from, until, marginMs },
  );

const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const isIn = (range: string, day: number) => {
  const [first = "", last = first] = range.split("-");
  for (let one = weekdays.indexOf(first); ; one = (one + 1) % 7) {
    if (one === day) return true;
    if (weekdays[one] === last) return false;
  }
};

/** Returns true if a rule is open at a local minute, by comparing text, without arithmetic of ours. */
function isOpenAt({ hours, dates }: Written, local: string): boolean {
  const [date = "", time = ""] = local.split("T");
  if (dates.includes(date)) return false;
  const today = (new Date(`${date}T00:00Z`).getUTCDay() + 6) % 7;
  return Object.entries(hours).some(([range, texts]) =>
    texts.some((text) => {
      const [start = "", end = ""] = text.split("-");
      if (end > start) return isIn(range, today) && start <= time && time < end;
      return (isIn(range, today) && start <= time) || (isIn(range, (today + 6) % 7) && time < end);
    }),
  );
}

/** Returns the local time of each source separately. */
function sourcesOf(name: string): ((at: number) => string)[] {
  const zone = moment.tz.zone(name);
  return [
    (at) => new Date(at - (zone?.utcOffset(at) ?? 0) * minuteMs).toISOString().slice(0, 16),
    localTime(name),
  ];
}

/** Finds the first open minute by checking every one. */
function bruteForce(written: Written[], names: string[], from: number, marginMs: number) {
  const sources = names.flatMap(sourcesOf);
  const openAt = (at: number) =>
    sources.every((local) => written.every((one) => isOpenAt(one, local(at))));
  let since = from;
  for (let at = from; ; at += minuteMs) {
    if (since >= from + searchedMs) return undefined;
    if (!openAt(at)) since = at + minuteMs;
    else if (at + minuteMs - since >= marginMs) return since;
  }
}

const clock = fc.nat({ max: 24 * 12 - 1 }).map((five) => {
  const minutes = five * 5;
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
});
/** Minutes from a time to another time of the next day. */
const minutesFrom = (start: string, end: string) =>
  (Date.parse(`2026-01-02T${end}Z`) - Date.parse(`2026-01-01T${start}Z`)) / minuteMs;
const interval = fc
  .tuple(clock, fc.oneof(clock, fc.constant("24:00")))
  .filter(([start, end]) => start !== end && (end > start || minutesFrom(start, end) <= 12 * 60))
  .map(([start, end]) => `${start}-${end}`);
const intervals = fc.array(interval, { minLength: 0, maxLength: 3 });
const weekly = fc
  .oneof(
    fc.record({ "mon-sun": intervals }),
    fc.record({ "mon-fri": intervals, "sat-sun": intervals }),
    fc.record({ "sat-mon": intervals, wed: intervals }),
    fc.record({ tue: intervals }),
  )
  .filter((hours) => Object.values(hours).flat().length > 0);
const daysAfter = (from: number) =>
  fc.array(
    fc.nat({ max: 12 }).map((day) => new Date(from + (day - 1) * dayMs).toISOString().slice(0, 10)),
    { maxLength: 4 },
  );
const rulesFrom = (from: number) =>
  fc.array(fc.record({ hours: weekly, dates: daysAfter(from) }), { minLength: 1, maxLength: 3 });
const marginMs = fc.constantFrom(0, 5 * minuteMs, 45 * minuteMs);

const names = Object.values(table.names).flatMap((list) => list.split(" "));
const changes = names.flatMap((name) =>
  (moment.tz.zone(name)?.untils ?? [])
    .filter((at) => at > Date.UTC(2026, 0, 12) && at < Date.UTC(2029, 0, 1))
    .map((at) => ({ name, at })),
);

function agrees(rules: Written[], zoneNames: string[], from: number, margin: number): void {
  const expected = bruteForce(rules, zoneNames, from, margin);
  const found = opening(rules, zoneNames, from, { marginMs: margin });
  expect({ rules, zoneNames, from, margin, at: found.at }).toEqual({
    rules,
    zoneNames,
    from,
    margin,
    at: expected,
  });
  expect(found.closedBy === undefined).toBe(expected === from);
}

describe("the next opening", () => {
  it("equals a search through every minute of ten days, for any plan, zones and time", () => {
    const time = fc
      .integer({ min: Date.UTC(2026, 0, 12), max: Date.UTC(2036, 11, 1) })
      .map((at) => at - (at % minuteMs));
    const zoneNames = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 });
    const cases = time.chain((from) => fc.tuple(rulesFrom(from), zoneNames, fc.constant(from)));
    fc.assert(
      fc.property(cases, marginMs, ([rules, zoneNames_, from], margin) =>
        agrees(rules, zoneNames_, from, margin),
      ),
      { numRuns: 150 },
    );
  }, 120_000);

  it("equals that search around every change of every zone's clock from 2026 to 2028", () => {
    expect(changes.length).toBeGreaterThan(1000);
    const seed = Date.now();
    for (const [index, { name, at }] of changes.entries()) {
      const [around] = fc.sample(
        fc.tuple(rulesFrom(at - dayMs), fc.integer({ min: -36 * 60, max: 3 * 60 }), marginMs),
        { seed: seed + index, numRuns: 1 },
      );
      if (around === undefined) throw new Error("no sample");
      const [rules, minutes, margin] = around;
      agrees(rules, [name], at + minutes * minuteMs, margin);
    }
  }, 120_000);

  it("never comes earlier for a later time, and stays until it has come", () => {
    const time = fc.integer({ min: Date.UTC(2026, 0, 12), max: Date.UTC(2030, 0, 1) });
    const cases = time.chain((from) => fc.tuple(rulesFrom(from), fc.constant(from)));
    fc.assert(
      fc.property(
        cases,
        fc.constantFrom(...names),
        fc.nat({ max: 5 * dayMs }),
        ([rules, from], name, laterMs) => {
          const until = from + 20 * dayMs;
          const first = opening(rules, [name], from, { until }).at ?? until;
          const later = opening(rules, [name], from + laterMs, { until }).at ?? until;
          expect(later).toBeGreaterThanOrEqual(first);
          if (from + laterMs <= first) expect(later).toBe(first);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("calling hours", () => {
  const nine = { "mon-sun": ["09:00-17:00"] };
  const cases: [string, Written["hours"], string, string, string][] = [
    // New York skips 02:00 to 03:00 of 8 March 2026, and repeats 01:00 to 02:00 of 1 November.
    [
      "a window in the skipped hour",
      { "mon-sun": ["02:10-02:50"] },
      "America/New_York",
      "2026-03-08T05:00Z",
      "2026-03-09T06:10Z",
    ],
    [
      "a window into the skipped hour",
      { "mon-sun": ["02:30-03:30"] },
      "America/New_York",
      "2026-03-08T05:00Z",
      "2026-03-08T07:00Z",
    ],
    [
      "the first of an hour that comes twice",
      { "mon-sun": ["01:10-01:20"] },
      "America/New_York",
      "2026-11-01T05:00Z",
      "2026-11-01T05:10Z",
    ],
    [
      "the second of an hour that comes twice",
      { "mon-sun": ["01:10-01:20"] },
      "America/New_York",
      "2026-11-01T05:20Z",
      "2026-11-01T06:10Z",
    ],
    ["the morning after the gap", nine, "Europe/Berlin", "2026-03-28T18:00Z", "2026-03-29T07:00Z"],
    [
      "the morning after the overlap",
      nine,
      "Europe/Berlin",
      "2026-10-24T18:00Z",
      "2026-10-25T08:00Z",
    ],
    [
      "the skipped hour",
      { "mon-sun": ["02:30-02:45"] },
      "Europe/Berlin",
      "2026-03-29T00:00Z",
      "2026-03-30T00:30Z",
    ],
    ["the gap", nine, "Australia/Sydney", "2026-10-03T12:00Z", "2026-10-03T22:00Z"],
    ["the overlap", nine, "Australia/Sydney", "2026-04-04T12:00Z", "2026-04-04T23:00Z"],
    // Lord Howe moves by half an hour: 02:00 to 02:30 of 4 October 2026 is skipped.
    [
      "half an hour skipped",
      { "mon-sun": ["02:10-02:20"] },
      "Australia/Lord_Howe",
      "2026-10-03T13:00Z",
      "2026-10-04T15:10Z",
    ],
    [
      "half an hour twice",
      { "mon-sun": ["01:45-01:50"] },
      "Australia/Lord_Howe",
      "2026-04-04T14:50Z",
      "2026-04-04T15:15Z",
    ],
    ["an offset of +05:30", nine, "Asia/Kolkata", "2026-06-01T00:00Z", "2026-06-01T03:30Z"],
    ["an offset of +05:45", nine, "Asia/Kathmandu", "2026-06-01T00:00Z", "2026-06-01T03:15Z"],
    [
      "the far side of the date line",
      { mon: ["09:00-10:00"] },
      "Pacific/Apia",
      "2026-06-07T00:00Z",
      "2026-06-07T20:00Z",
    ],
    [
      "the near side of the date line",
      { mon: ["09:00-10:00"] },
      "Pacific/Pago_Pago",
      "2026-06-07T00:00Z",
      "2026-06-08T20:00Z",
    ],
    ["a fixed offset", nine, "-03:30", "2026-06-01T00:00Z", "2026-06-01T12:30Z"],
    [
      "29 February",
      { tue: ["09:00-10:00"] },
      "Europe/Berlin",
      "2028-02-28T12:00Z",
      "2028-02-29T08:00Z",
    ],
    [
      "a window over midnight, before it",
      { fri: ["22:00-02:00"] },
      "Europe/Berlin",
      "2026-06-05T12:00Z",
      "2026-06-05T20:00Z",
    ],
    [
      "a window over midnight, after it",
      { fri: ["22:00-02:00"] },
      "Europe/Berlin",
      "2026-06-05T23:30Z",
      "2026-06-05T23:30Z",
    ],
    [
      "a window over the end of the week",
      { sun: ["23:00-01:00"] },
      "Europe/Berlin",
      "2026-06-07T22:30Z",
      "2026-06-07T22:30Z",
    ],
    [
      "windows that touch at midnight",
      { "sat-sun": ["00:00-24:00"] },
      "Europe/Berlin",
      "2026-06-06T21:59Z",
      "2026-06-06T21:59Z",
    ],
  ];
  it.each(cases)("open right at %s (%j, %s)", (_, hours, zone, from, expected) => {
    const found = opening([{ hours, dates: [] }], [zone], Date.parse(from));
    expect(found.at && new Date(found.at).toISOString()).toBe(new Date(expected).toISOString());
  });

  it("keep a blackout on the day the clocks change, from its first minute to its last", () => {
    const rule = { hours: { "mon-sun": ["00:00-24:00"] }, dates: ["2026-03-29", "2026-10-25"] };
    const berlin = (from: string) => {
      const { at } = opening([rule], ["Europe/Berlin"], Date.parse(from));
      return at && new Date(at).toISOString().slice(0, 16);
    };
    expect(berlin("2026-03-28T22:59Z")).toBe("2026-03-28T22:59");
    expect(berlin("2026-03-28T23:00Z")).toBe("2026-03-29T22:00"); // a day of 23 hours
    expect(berlin("2026-10-24T22:00Z")).toBe("2026-10-25T23:00"); // a day of 25 hours
  });

  it("are kept as IANA 2026f has them in Winnipeg and Vancouver, whatever the runtime thinks", () => {
    const until21 = [{ hours: { "mon-sun": ["08:00-21:00"] }, dates: [] }];
    // The table says 21:00. A runtime without the changes of 2026 reads 20:00 and would dial for an hour
    // more.
    for (const [zone, close] of [
      ["America/Winnipeg", "2026-12-01T02:00Z"],
      ["America/Vancouver", "2026-12-01T04:00Z"],
    ] as const) {
      const at = Date.parse(close);
      const hours = { rules: until21.map((one) => ruleOf(one)), zones: zones(zone) };
      expect(isOpen(hours, at - minuteMs)).toBe(true);
      expect(isOpen(hours, at)).toBe(false);
      const [, intl = () => undefined] = zoneOf(zone)?.clocks ?? [];
      const opens = nextOpening(hours, { from: at, until: at + dayMs, marginMs: 0 }).at ?? 0;
      expect(opens).toBeGreaterThanOrEqual(at + 11 * 3_600_000);
      // Both sources must be open, so it is eight o'clock by the runtime too.
      const local = opens + (intl(opens)?.offsetMs ?? 0);
      expect(local % dayMs).toBeGreaterThanOrEqual(8 * 3_600_000);
    }
  });

  it("are open only where table and runtime both say so", () => {
    const clockAt = (offsetMs: number) => () => ({
      offsetMs,
      from: Number.NEGATIVE_INFINITY,
      until: Number.POSITIVE_INFINITY,
    });
    const torn = {
      name: "torn",
      clocks: [clockAt(-5 * 3_600_000), clockAt(-6 * 3_600_000)],
    } as const;
    const rules = [ruleOf({ hours: { "mon-sun": ["08:00-21:00"] }, dates: [] })];
    const open = (text: string) => isOpen({ rules, zones: [torn] }, Date.parse(text));
    expect(["12:59", "13:59", "14:00", "23:59"].map((time) => open(`2026-06-01T${time}Z`))).toEqual(
      [false, false, true, true],
    );
    expect(["01:59", "02:00", "02:30"].map((time) => open(`2026-06-01T${time}Z`))).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("never open past the table's end, nor where no zone is known", () => {
    const rules = [ruleOf({ hours: { "mon-sun": ["09:00-17:00"] }, dates: [] })];
    const from = Date.parse(table.end) - 3_600_000;
    const window = { from, until: from + dayMs, marginMs: 0 };
    expect(nextOpening({ rules, zones: zones("Pacific/Auckland") }, window)).toEqual({ at: from });
    const utc = nextOpening({ rules, zones: zones("UTC") }, window);
    expect(utc).toEqual({ at: undefined, closedBy: "rule" });
    const past = { ...window, from: from + dayMs, until: from + 2 * dayMs };
    expect(nextOpening({ rules, zones: zones("Pacific/Auckland") }, past)).toEqual({
      at: undefined,
      closedBy: "no_clock",
    });
    expect(nextOpening({ rules, zones: [] }, window)).toEqual({
      at: undefined,
      closedBy: "no_time_zone",
    });
    expect(nextOpening({ rules: [], zones: [] }, window)).toEqual({ at: from });
  });

  it("say which rule was closed, and leave the margin before they close", () => {
    const [morning, noon] = [
      { hours: { "mon-sun": ["09:00-12:00"] }, dates: [] },
      { hours: { "mon-sun": ["11:00-13:00"] }, dates: [] },
    ];
    const found = (time: string, margin = 0) => {
      const from = Date.parse(`2026-06-01T${time}Z`);
      const { at, closedBy } = opening([morning, noon], ["UTC"], from, { marginMs: margin });
      return [at && new Date(at).toISOString().slice(5, 16), closedBy];
    };
    expect(found("08:00")).toEqual(["06-01T11:00", "rule 0"]);
    expect(found("10:00")).toEqual(["06-01T11:00", "rule 1"]);
    expect(found("11:30")).toEqual(["06-01T11:30", undefined]);
    expect(found("11:30", 30 * minuteMs)).toEqual(["06-01T11:30", undefined]);
    expect(found("11:31", 30 * minuteMs)).toEqual(["06-02T11:00", "rule 0"]);
    expect(found("08:00", 61 * minuteMs)).toEqual([undefined, "rule 0"]);
  });
});

describe("hours of the week", () => {
  it.each<[Record<string, string[]>, string]>([
    [{ "mon-fry": ["09:00-17:00"] }, 'must be like "mon" or "mon-fri"'],
    [{ mon: ["9:00-17:00"] }, 'must be like "09:00-17:30"'],
    [{ mon: ["09:00-25:00"] }, 'must be like "09:00-17:30"'],
    [{ mon: ["24:00-25:00"] }, 'must be like "09:00-17:30"'],
    [{ mon: ["09:60-17:00"] }, 'must be like "09:00-17:30"'],
    [{ mon: ["09:00-09:00"] }, 'must be like "09:00-17:30"'],
    [{ mon: ["09:00-05:00"] }, "of 12 hours at most"],
    [{ "mon-fri": ["09:00-17:00"], wed: ["09:00-12:00"] }, "names wed a second time"],
    [{ "fri-mon": ["09:00-17:00"], "mon-tue": [] }, "names mon a second time"],
    [{}, "must be open at some time"],
    [{ mon: [] }, "must be open at some time"],
  ])("%j are refused: %s", (hours, message) => {
    const { error } = weeklyHoursSchema.safeParse(hours);
    expect(error?.issues.map((issue) => issue.message).join("\n")).toContain(message);
  });
});
