import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import permitAt from "moment-timezone";
import packed from "moment-timezone/data/packed/latest.json" with { type: "json" };
import { describe, expect, it } from "vitest";
import { makeTables } from "#infra/generate/tables.ts";
import { findZone, isTimeZone, timeZoneProblem } from "#shared/telephony/time-zone.ts";
import table from "#shared/telephony/time-zones.json" with { type: "json" };
import { localTime } from "#test/support/local-time.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

permitAt.tz.load(packed);
const names = Object.values(table.names).flatMap((list) => list.split(" "));
const hours = (text: string, name: string, source: 0 | 1 = 0) => {
  const at = Date.parse(text);
  const clock = findZone(name)?.clocks[source];
  return (clock?.(at)?.offsetMs ?? Number.NaN) / 3_600_000;
};

describe("the tables", () => {
  it("are what their pinned sources make (else: npm run tables)", inSlowTier, async () => {
    const { files } = await makeTables();
    for (const [name, text] of Object.entries(files)) {
      expect(await readFile(`shared/${name}`, "utf8")).toBe(text);
    }
  });

  it("are small: at most 25 kB together in a gzipped bundle", async () => {
    const texts = await Promise.all(
      ["telephony/time-zones.json", "telephony/zones-of-prefixes.json"].map((name) =>
        readFile(`shared/${name}`, "utf8"),
      ),
    );
    const bytes = texts.map((text) => gzipSync(JSON.stringify(JSON.parse(text))).length);
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(25_000);
  });

  it("hold the IANA release 2026f, ten years ahead and more", () => {
    expect(table.version).toBe("2026f");
    expect(names).toHaveLength(597);
    expect(Date.parse(table.end)).toBeGreaterThan(Date.parse("2036-11-21"));
  });
});

describe("a time zone's table", () => {
  it("says before and after every change of every zone what IANA says", inSlowTier, () => {
    const [start, end] = [Date.parse(table.start), Date.parse(table.end)];
    let changes = 0;
    for (const name of names) {
      const clock = findZone(name)?.clocks[0];
      const zone = permitAt.tz.zone(name);
      for (const until of [start, ...(zone?.untils ?? []), end - 1]) {
        if (until < start || until >= end) continue;
        changes++;
        for (const at of [until - 1, until].filter((one) => one >= start)) {
          expect([name, at, clock?.(at)?.offsetMs]).toEqual([
            name,
            at,
            0 - (zone?.utcOffset(at) ?? Number.NaN) * 60_000,
          ]);
        }
      }
      expect([clock?.(start - 1), clock?.(end)]).toEqual([undefined, undefined]);
    }
    expect(changes).toBeGreaterThan(5000);
  });

  it("has the changes of 2026 that runtimes lack", () => {
    const at = "2026-11-30T12:00Z";
    expect(hours(at, "America/Winnipeg")).toBe(-5);
    expect(hours(at, "America/Vancouver")).toBe(-7);
    expect(hours(at, "America/New_York")).toBe(-5);
  });

  it("never changes a clock twice within the week that Intl is asked for at once", () => {
    for (const words of Object.keys(table.names)) {
      const gaps = words.split(" ").filter((_, index) => index % 2 === 1);
      const minutes = gaps.slice(1).map((gap) => Number.parseInt(gap, 36));
      expect(Math.min(Number.POSITIVE_INFINITY, ...minutes)).toBeGreaterThan(2 * 7 * 24 * 60);
    }
  });
});

describe("a time zone's Intl", () => {
  it(
    "says what the runtime says, on both sides of every change of 2026 to 2028",
    inSlowTier,
    () => {
      const zones = names.filter((name) => findZone(name) !== undefined);
      expect(zones.length).toBeGreaterThan(590);
      for (const name of zones) {
        const changes = (permitAt.tz.zone(name)?.untils ?? []).filter(
          (at) => at > Date.UTC(2026, 0, 2) && at < Date.UTC(2029, 0, 1),
        );
        const format = localTime(name);
        for (const at of changes.flatMap((change) => [
          change - 60_000,
          change,
          change + 3_600_000,
        ])) {
          const offset = (findZone(name)?.clocks[1]?.(at)?.offsetMs ?? 0) + at;
          expect([name, new Date(offset).toISOString().slice(0, 16)]).toEqual([name, format(at)]);
        }
      }
    },
  );
});

describe("the name of a time zone", () => {
  it.each(["America/New_York", "america/new_york", "US/Eastern", "UTC", "utc", "Asia/Calcutta"])(
    "may be %s",
    (name) => expect(isTimeZone(name)).toBe(true),
  );

  it.each([
    ["Z", 0],
    ["+05:30", 5.5],
    ["-09:30", -9.5],
    ["+14:00", 14],
    ["-12:00", -12],
  ])("may be the offset %s", (name, offset) => {
    expect(hours("2026-11-30T12:00Z", name)).toBe(offset);
    expect(findZone(name)?.clocks).toHaveLength(1);
  });

  it.each(["", "z", "EST6", "Mars/Olympus", "+5:30", "+0530", "+14:01", "-12:30", "+05:60"])(
    "may not be %j",
    (name) => expect(isTimeZone(name)).toBe(false),
  );
});

describe("a time zone that a call may not name", () => {
  it.each([
    ["EST", "America/New_York"],
    ["est", "America/New_York"],
    ["MST", "America/Denver"],
    ["GMT", "UTC"],
    ["GMT0", "UTC"],
    ["GMT+0", "UTC"],
    ["GMT-0", "UTC"],
    ["Greenwich", "UTC"],
  ])("%s is refused, and %s is named instead", (name, better) => {
    expect(timeZoneProblem(name)).toContain(better);
  });

  it.each(["HST", "CET", "EST5EDT", "MST7MDT", "Etc/GMT+5", "UTC", "Europe/London", "-05:00"])(
    "%s is none",
    (name) => expect(timeZoneProblem(name)).toBeUndefined(),
  );
});
