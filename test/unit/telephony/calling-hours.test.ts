import { describe, expect, it } from "vitest";
import { isOpen, nextOpening, weeklyHoursSchema } from "#shared/telephony/calling-hours.ts";
import { findZone } from "#shared/telephony/time-zone.ts";
import table from "#shared/telephony/time-zones.json" with { type: "json" };
import {
  dayMs,
  minuteMs,
  opening,
  ruleOf,
  type Written,
  zones,
} from "#test/support/calling-hours.ts";

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
      const [, intl = () => undefined] = findZone(zone)?.clocks ?? [];
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
    expect(found("08:00")).toEqual(["06-01T11:00", "rule 1"]);
    expect(found("10:00")).toEqual(["06-01T11:00", "rule 1"]);
    expect(found("11:30")).toEqual(["06-01T11:30", undefined]);
    expect(found("11:30", 30 * minuteMs)).toEqual(["06-01T11:30", undefined]);
    expect(found("11:31", 30 * minuteMs)).toEqual(["06-02T11:00", "rule 0"]);
    expect(found("08:00", 61 * minuteMs)).toEqual([undefined, "rule 1"]);
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
