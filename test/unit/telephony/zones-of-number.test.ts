import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { clocksIn } from "#infra/generate/tables.ts";
import { letterCorrections } from "#infra/generate/zones/corrections.ts";
import { letters } from "#infra/generate/zones/regions.ts";
import { hoursLeft } from "#infra/generate/zones/report-changes.ts";
import { zonesOfCountries } from "#infra/generate/zones/zones-of-prefixes.ts";
import { parsePhoneNumber } from "libphonenumber-js/max";
import metadata from "libphonenumber-js/min/metadata";
import { dayMs } from "#shared/lib/units.ts";
import { findZone } from "#shared/telephony/time-zone.ts";
import { countryOf, isE164, mayAlsoBe } from "#shared/telephony/phone-number.ts";
import timeZones from "#shared/telephony/time-zones.json" with { type: "json" };
import ofPrefixes from "#shared/telephony/zones-of-prefixes.json" with { type: "json" };
import { readPrefixes, zonesOfNumber } from "#shared/telephony/zones-of-number.ts";
import { places } from "#test/support/places.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const clockOf = clocksIn(timeZones.names);
const prefixes = readPrefixes(ofPrefixes);
const clocksOf = (zones: readonly string[]) => new Set(zones.map(clockOf));

/** Returns a zone's offsets, week by week for two years: some zones have kept other times before. */
const offsetsOf = (zone: string) =>
  Array.from(
    { length: 104 },
    (_, week) => findZone(zone)?.clocks[0](Date.parse("2026-12-01") + week * 7 * dayMs)?.offsetMs,
  ).join(" ");

describe("a number", () => {
  it.each(places)("$number may ring in $place", ({ number, zone }) => {
    expect(isE164(number)).toBe(true);
    expect(zonesOfNumber(number).map(offsetsOf)).toContain(offsetsOf(zone));
  });

  it.each([
    ["+12125550100", "America/New_York"],
    ["+13035550100", "America/Denver"],
    ["+442071838750", "Europe/London"],
    ["+916135550100", "Asia/Calcutta"],
    ["+61292530000", "Australia/Sydney"],
    ["+5511961234567", "America/Sao_Paulo"],
    ["+16025550100", "America/Phoenix"],
  ])("%s rings by the clock of %s alone", (number, zone) => {
    expect(clocksOf(zonesOfNumber(number))).toEqual(clocksOf([zone]));
  });

  it("is in all zones of its calling code if it names no place", () => {
    expect(zonesOfNumber("+18005550100")).toEqual(zonesOfNumber("+18665550100"));
    const clocks = clocksOf(zonesOfNumber("+18005550100"));
    for (const zone of ["America/New_York", "Pacific/Honolulu", "Pacific/Guam"]) {
      expect(clocks).toContain(clockOf(zone));
    }
  });

  it("of an area code that nobody knows is in all zones of +1", () => {
    expect(zonesOfNumber("+14655550100")).toEqual(zonesOfNumber("+18005550100"));
  });

  it("of an area code in use, by the number tables of libphonenumber, has zones of its own", () => {
    const anywhere = zonesOfNumber("+18005550100");
    const codes = Array.from({ length: 800 }, (_, index) => String(index + 200));
    const inUse = codes.filter((code) => {
      const type = parsePhoneNumber(`+1${code}5550123`).getType();
      return type === "FIXED_LINE_OR_MOBILE" || type === "FIXED_LINE" || type === "MOBILE";
    });
    const unknown = inUse.filter((code) => zonesOfNumber(`+1${code}5550123`) === anywhere);
    // No source at hand says where 273 is, so it is in all zones of +1.
    expect(unknown).toEqual(["273"]);
    expect(inUse.length).toBeGreaterThan(420);
  });

  it("is in all zones of its country if it is of a mobile phone, which moves", () => {
    for (const [mobile, ...zones] of [
      ["+61412345678", "Australia/Perth", "Australia/Sydney"],
      ["+34612345678", "Atlantic/Canary", "Europe/Madrid"],
      ["+79161234567", "Asia/Vladivostok", "Europe/Moscow"],
    ] as const) {
      const known = clocksOf(zonesOfNumber(mobile));
      expect(zones.filter((zone) => !known.has(clockOf(zone)))).toEqual([]);
    }
  });

  it("of a phone that rings under two country codes is in the zones of both", () => {
    for (const number of ["+972599123456", "+972562123456", "+97282812345", "+390549123456"]) {
      const known = clocksOf(zonesOfNumber(number));
      const others = mayAlsoBe(number).flatMap(zonesOfNumber);
      expect(others).not.toEqual([]);
      expect([number, others.filter((zone) => !known.has(clockOf(zone)))]).toEqual([number, []]);
    }
  });

  it("of a satellite phone is in none", () => {
    expect(zonesOfNumber("+881612345678")).toEqual([]);
  });
});

describe("every prefix", () => {
  it("has zones that the product knows, one for each clock", inSlowTier, () => {
    for (const [prefix, zones] of prefixes) {
      expect([prefix, zones.length]).not.toEqual([prefix, 0]);
      expect([prefix, zones.filter((zone) => findZone(zone) === undefined)]).toEqual([prefix, []]);
      expect([prefix, clocksOf(zones).size]).toEqual([prefix, zones.length]);
    }
  });

  it("keeps the clocks of zones that IANA lists for its countries", () => {
    const ofCode = new Map<string, Set<string>>();
    for (const [code, countries] of Object.entries(metadata.country_calling_codes)) {
      ofCode.set(code, clocksOf(zonesOfCountries(countries, clockOf)));
    }
    const foreign = [...prefixes].flatMap(([prefix, zones]) => {
      const code = [3, 2, 1].map((end) => prefix.slice(0, end)).find((one) => ofCode.has(one));
      const own = ofCode.get(code ?? "");
      if (own === undefined || own.size === 0) return [];
      return zones.every((zone) => own.has(clockOf(zone))) ? [] : [prefix];
    });
    // The north of Cyprus has the code of Turkey, and Palestinian phones ring under the code of Israel.
    const shared = /^(?:90392|905338|905428|905488|972(?:5[69]|[2489]2))$/;
    expect(foreign.filter((prefix) => !shared.test(prefix))).toEqual([]);
  });

  it("of +1 keeps those of its own country", () => {
    const foreign = [...prefixes].flatMap(([prefix, zones]) => {
      const country = countryOf(`+${prefix.padEnd(11, "2")}`);
      if (!/^1\d{3}/.test(prefix) || country === undefined || country === "US") return [];
      const own = clocksOf(zonesOfCountries([country], clockOf));
      return zones.every((zone) => own.has(clockOf(zone))) ? [] : [`${prefix} ${country}`];
    });
    expect(foreign).toEqual([]);
  });

  it("of an area code has a zone for each letter of the codes whose area it covers", async () => {
    const text = await readFile("infra/generate/zones/area-codes.csv", "utf8");
    const rows = text.trim().split("\n").slice(1);
    const lettersOf = new Map(
      rows.map((row) => {
        const [code = "", , , letter = ""] = row.split(",");
        return [code, letterCorrections[code]?.letters ?? letter];
      }),
    );
    let overlays = 0;
    for (const row of rows) {
      const [code = "", , , , complex = ""] = row.split(",");
      const winters = new Set(
        zonesOfNumber(`+1${code}5550199`).map((zone) => Number(clockOf(zone).split(" ")[0])),
      );
      for (const other of [code, ...complex.split("/").filter(Boolean)]) {
        const all = lettersOf.get(other) ?? "";
        if (!/^[A-Z]+$/.test(all) || all === "NA") continue;
        overlays++;
        // A region whose summer time is permanent is an hour ahead of its letter.
        const lacking = Array.from(all).filter((letter) => {
          const offset = letters[letter] ?? Number.NaN;
          return !winters.has(offset) && !winters.has(offset + 60);
        });
        expect([code, other, lacking]).toEqual([code, other, []]);
      }
    }
    expect(overlays).toBeGreaterThan(300);
  });

  it(
    "leaves four hours a day at least, of the examples' thirteen, but for two kinds",
    inSlowTier,
    () => {
      const few = [...prefixes].flatMap(([prefix, zones]) =>
        hoursLeft(zones, [8, 21], clockOf) < 4 ? prefix : [],
      );
      // Freephone and other numbers of no place in +1; mobile and freephone numbers from Kaliningrad to Kamchatka.
      expect(few.filter((prefix) => prefix !== "1" && !/^7(?:80\d|8)?/.test(prefix))).toEqual([]);
    },
  );

  it(
    "of an area code leaves nine hours a day at least, of the examples' thirteen",
    inSlowTier,
    () => {
      const few = [...prefixes].flatMap(([prefix, zones]) => {
        if (!/^1\d{3}/.test(prefix) || prefix.slice(0, 4) === "1600") return [];
        const hours = hoursLeft(zones, [8, 21], clockOf);
        return hours < 9 && zones.length < 10 ? [`${prefix}: ${hours}`] : [];
      });
      expect(few).toEqual([]);
    },
  );
});
