import { beforeAll, describe, expect, it } from "vitest";
import { clocksIn } from "#infra/generate/tables.ts";
import { corrections, letterCorrections } from "#infra/generate/zones/corrections.ts";
import { combine } from "#infra/generate/zones/zones-of-prefixes.ts";
import { readSources, type Sources } from "#infra/generate/zones/zone-sources.ts";
import timeZones from "#shared/telephony/time-zones.json" with { type: "json" };

const clockOf = clocksIn(timeZones.names);
const clocksAt = (zones: ReadonlyMap<string, readonly string[]>, prefix: string) => {
  for (let end = prefix.length; end > 0; end--) {
    const found = zones.get(prefix.slice(0, end));
    if (found !== undefined) return found.map(clockOf).toSorted();
  }
  return [];
};

describe("the sources of zones", () => {
  let sources: Sources;
  let combined: ReturnType<typeof combine>;
  beforeAll(async () => {
    sources = await readSources();
    combined = combine(sources, { clockOf });
  });

  it.each(corrections.flatMap(({ prefixes }) => prefixes.split(" ")))(
    "do not say of +%s what its correction says: else it is no longer needed",
    (prefix) => {
      const corrected = combined.zones;
      const alone = combine(sources, { clockOf, without: prefix }).zones;
      const below = [prefix, ...[...alone.keys()].filter((one) => one.startsWith(prefix))];
      const differing = below.filter(
        (one) => clocksAt(alone, one).join() !== clocksAt(corrected, one).join(),
      );
      expect(differing.length).toBeGreaterThan(0);
    },
  );

  it.each(Object.keys(letterCorrections))(
    "have a letter for +1 %s that no zone of its region keeps: else its correction is not needed",
    (code) => {
      const row = sources.areaCodes.find((one) => one.code === code);
      expect(row?.letters).not.toBe(letterCorrections[code]?.letters);
    },
  );

  it("are corrected by an address or a document", () => {
    for (const { source } of [...corrections, ...Object.values(letterCorrections)]) {
      expect(source).toMatch(/https:|Plan|row says/);
    }
  });

  it("have a row of the numbering plan for each area code of the map", () => {
    const lacking = combined.notes.filter((note) => note.includes("numbering plan's table lacks"));
    expect(lacking).toEqual([]);
  });

  it("let nothing but the numbering plan say where an area code is", () => {
    const areaCodes = sources.areaCodes.filter(({ code }) => code !== "257");
    const { zones, notes } = combine({ ...sources, areaCodes }, { clockOf });
    expect(clocksAt(zones, "1257")).toEqual(clocksAt(zones, "1800"));
    expect(notes).toContain("+1 257: the numbering plan's table lacks it");
  });

  it("name what one of them lacks", () => {
    expect(combined.notes).toContain("+1 679: the map lacks it");
  });
});
