/**
 * Where numbers ring: the zones of each prefix of E.164 numbers. Google's map (libphonenumber, statistics of 2018) is
 * one source, and is not trusted alone. The second source for +1 is the numbering plan administrator's table of area
 * codes; elsewhere it is the names of places that the same library gives to prefixes, and IANA's lists of zones by
 * country. If the sources disagree, both apply: all zones must be open. `corrections` overrule both.
 */
import type { CountryCode } from "libphonenumber-js/max";
import metadata from "libphonenumber-js/max/metadata";
import meta from "moment-timezone/data/meta/latest.json" with { type: "json" };
import { corrections, letterCorrections } from "./corrections.ts";
import { kindOfPrefix } from "./kind-of-prefix.ts";
import type { AreaCode, Sources } from "./zone-sources.ts";
import { letters, places, regionsOfAreaCodes, zonesOfAreaCodes } from "./regions.ts";

/** Returns a clock's text, equal for zones that keep the same time. */
type ClockOf = (zone: string) => string;

/** The zones of all prefixes, and notes for a person. */
export interface ZonesOfPrefixes {
  /** Prefixes of E.164 numbers without the plus sign. The longest one decides. */
  zones: Map<string, string[]>;
  /** Sentences on gaps and contradictions of the sources. */
  notes: string[];
}

/** Zones that IANA lists for a country although none of its people uses them. */
const oddZones: Partial<Record<string, readonly string[]>> = {
  AU: ["Asia/Tokyo", "Antarctica/Macquarie"],
};

/** Combines the sources. Without `correction`s of a prefix it says what the sources alone would. */
export function combine(
  sources: Sources,
  { clockOf, without }: { clockOf: ClockOf; without?: string },
): ZonesOfPrefixes {
  const notes: string[] = [];
  const decided = new Map<string, string[]>();
  for (const { prefixes, zones } of corrections) {
    for (const prefix of prefixes.split(" ")) {
      if (prefix !== without) decided.set(prefix, zones.split(" "));
    }
  }
  const zones = new Map([
    ...ofAreaCodes(sources, clockOf, notes),
    ...ofOtherCodes(sources, clockOf, notes),
  ]);
  for (const [prefix, list] of decided) {
    for (const longer of zones.keys()) if (longer.startsWith(prefix)) zones.delete(longer);
    zones.set(prefix, list);
  }
  // A longer correction stands beside the shorter one that it is an exception of.
  for (const [prefix, list] of decided) zones.set(prefix, list);
  return { zones: withoutRepetitions(zones), notes };
}

/**
 * Zones of +1. All numbers of an area code are in all of its zones: which exchange is where, the map alone says, and names
 * of places contradict it. An area code that the numbering plan's table lacks is in all zones of +1, like a freephone
 * number: the map alone may name one zone of several.
 */
function ofAreaCodes(
  { map, areaCodes }: Sources,
  clockOf: ClockOf,
  notes: string[],
): Map<string, string[]> {
  const inMap = new Set([...map.keys()].flatMap((prefix) => /^1(\d{3})/.exec(prefix)?.[1] ?? []));
  const all = unique(
    [...map].flatMap(([prefix, list]) => (prefix.startsWith("1") ? list : [])),
    clockOf,
  );
  const lookUp = longestOf(map);
  const zonesInMap = (code: string) => {
    const own = lookUp(`1${code}`);
    return own !== undefined && own.prefix.length > 1 ? own.zones : [];
  };
  const base = new Map<string, string[]>();
  for (const row of areaCodes) {
    const { code } = row;
    const fromMap = zonesInMap(code);
    if (!inMap.has(code) && fromMap.length === 0) notes.push(`+1 ${code}: the map lacks it`);
    const { possible, lettered } = zonesOfRegion(corrected(row), clockOf);
    const isPossible = amongClocks(possible, clockOf);
    const listed = [...map].filter(
      ([prefix]) => prefix.startsWith(`1${code}`) && prefix.length > 4,
    );
    for (const [prefix, list] of listed) {
      if (list.some(isPossible)) continue;
      notes.push(`+${prefix}: the map says ${list.join(" ")}, where no part of ${code} lies`);
    }
    const seen = [...fromMap, ...listed.flatMap(([, list]) => list)].filter(isPossible);
    // The names that people know first: the map has some for a clock's last county.
    base.set(code, [...lettered, ...seen]);
  }
  for (const code of inMap) {
    const isOfPlace = zonesInMap(code).length <= placesMax;
    if (!base.has(code) && isOfPlace) notes.push(`+1 ${code}: the numbering plan's table lacks it`);
  }
  const zones = new Map<string, string[]>([["1", all]]);
  for (const { code, complex } of areaCodes) {
    const own = base.get(code) ?? [];
    const covered = complex.flatMap((other) => base.get(other) ?? []);
    const list = unique([...own, ...covered], clockOf);
    zones.set(`1${code}`, list.length === 0 ? all : list);
  }
  return zones;
}

/** Maximum zones in the map of an area code that is of a place: a freephone code has more. */
const placesMax = 3;

function corrected(row: AreaCode): AreaCode {
  return { ...row, ...letterCorrections[row.code] };
}

/** Returns the zones that an area code's letters stand for in its region, and all zones of the region. */
function zonesOfRegion(row: AreaCode, clockOf: ClockOf) {
  const possible = (zonesOfAreaCodes[row.code] ?? regionsOfAreaCodes[row.region])?.split(" ");
  if (possible === undefined) throw new Error(`+1 ${row.code}: no zones of region ${row.region}`);
  const lettered = offsetsOf(row.letters).flatMap((offset) => {
    const exact = possible.filter((zone) => keeps(clockOf(zone), offset));
    // Some regions have made their summer time permanent.
    return exact.length > 0
      ? exact
      : possible.filter((zone) => clockOf(zone) === String(offset + 60));
  });
  if (lettered.length < offsetsOf(row.letters).length) {
    throw new Error(
      `+1 ${row.code}: no zone of ${row.region} keeps "${row.letters}" of the numbering plan's table: correct it`,
    );
  }
  return { possible, lettered };
}

/** Returns the standard offsets of letters such as `EC`, or of an offset such as `(UTC-9)`, in minutes. */
function offsetsOf(text: string): number[] {
  const hours = /UTC([+-]\d+)/.exec(text)?.[1];
  return hours === undefined
    ? Array.from(text, (letter) => letters[letter] ?? Number.NaN)
    : [Number(hours) * 60];
}

/** True if a clock keeps a standard offset: in winter with an hour more in summer, or all year long. Letters know no summer time. */
function keeps(clock: string, offset: number): boolean {
  const [winter, , summer = String(offset + 60)] = clock.split(" ");
  return winter === String(offset) && summer === String(offset + 60);
}

/** Zones of all calling codes but +1. */
function ofOtherCodes(sources: Sources, clockOf: ClockOf, notes: string[]): Map<string, string[]> {
  const zones = new Map<string, string[]>();
  for (const [code, countries] of Object.entries(metadata.country_calling_codes)) {
    if (code === "1") continue;
    for (const [prefix, list] of ofCode({ code, countries }, sources, { clockOf, notes })) {
      zones.set(prefix, list);
    }
  }
  return zones;
}

interface Code {
  code: string;
  countries: readonly CountryCode[];
}

/** Zones of one calling code: of numbers of no place, and of each prefix that the map or a name has. */
function ofCode(
  { code, countries }: Code,
  { map, names }: Sources,
  { clockOf, notes }: { clockOf: ClockOf; notes: string[] },
): Map<string, string[]> {
  const own = new Set([...map.keys()].filter((prefix) => prefix.startsWith(code)));
  const ofCountries = zonesOfCountries(countries, clockOf);
  if (ofCountries.length === 0) {
    notes.push(`+${code}: IANA lists no zone of ${countries.join(" ")}`);
    return new Map([...own].map((prefix) => [prefix, map.get(prefix) ?? []]));
  }
  const base = (map.get(code) ?? []).filter(amongClocks(ofCountries, clockOf));
  if (base.length === 0) {
    const seen = map.get(code)?.join(" ") ?? "nothing";
    notes.push(`+${code}: the map says ${seen}, a clock of no zone of its country`);
  }
  const isParted = base.length === 0 || places[code] !== undefined || countries.length > 1;
  const ofNoPlace = unique([...base, ...(isParted ? ofCountries : [])], clockOf);
  const zones = new Map([[code, ofNoPlace]]);
  const differing = new Map<string, string[]>();
  const named = [...names.keys()].filter((prefix) => prefix.startsWith(code));
  const nameOf = longestOf(names);
  const byName = zonesByName(named, names, code);
  const judge = createJudge({ code, countries, ofNoPlace }, { map, clockOf });
  for (const prefix of new Set([...own, ...ancestors(named, code)])) {
    if (prefix === code) continue;
    const { said, possible, isOfPlace } = judge(prefix);
    const isOwn = own.has(prefix);
    const isKnown = nameOf(prefix) !== undefined || byName.isInArea(prefix);
    // Only numbers beside it have a name: nothing shows where its own numbers are.
    if (said.length === 0 && !isKnown) continue;
    if (!isOfPlace && !names.has(prefix)) {
      if (isOwn) zones.set(prefix, possible);
      continue;
    }
    const kept = said.filter(amongClocks(possible, clockOf));
    const told = byName.zonesAt(prefix).filter(amongClocks(possible, clockOf));
    const both = unique([...kept, ...told], clockOf);
    if (both.length > 0) zones.set(prefix, both);
    else if (isOwn) zones.set(prefix, possible);
    if (isOwn && kept.length === 0 && said.length > 0) {
      notes.push(`+${prefix}: the map says ${said.join(" ")}, a clock of no zone of its country`);
    }
    const isWider = kept.length > 0 && both.length > unique(kept, clockOf).length;
    if (isWider && (isOwn || names.has(prefix))) {
      const text = `the map says ${kept.join(" ")}, names of places ${unique(told, clockOf).join(" ")}`;
      differing.set(text, [...(differing.get(text) ?? []), prefix]);
    }
  }
  notes.push(...[...differing].map(([text, prefixes]) => `${someOf(prefixes)}: ${text}`));
  return zones;
}

function someOf([first = "", ...more]: readonly string[]): string {
  return `+${first}${more.length > 0 ? ` and ${more.length} more` : ""}`;
}

/** Returns a test of whether a zone keeps a clock of some zones. */
function amongClocks(zones: readonly string[], clockOf: ClockOf): (zone: string) => boolean {
  const clocks = new Set(zones.map(clockOf));
  return (zone) => clocks.has(clockOf(zone));
}

/** Returns a function that says what the map has for a prefix, and what kind of numbers begin with it. */
function createJudge(
  { code, countries, ofNoPlace }: Code & { ofNoPlace: string[] },
  { map, clockOf }: { map: Map<string, string[]>; clockOf: ClockOf },
) {
  const lookUp = longestOf(map);
  const all = zonesOfCountries(countries, clockOf);
  return (prefix: string) => {
    const found = lookUp(prefix);
    if (found === undefined || found.prefix.length <= code.length) {
      return { said: [], possible: all, isOfPlace: true };
    }
    // Where all countries keep one clock, it does not matter whose numbers they are, and in which place.
    const kind =
      all.length === 1 ? { isOfPlace: true, countries: [] } : kindOfPrefix(found.prefix, code);
    const listed = kind.countries.length > 0 ? zonesOfCountries(kind.countries, clockOf) : all;
    // The map's names come first: IANA lists Asia/Bangkok for Christmas Island.
    const of = unique([...ofNoPlace.filter(amongClocks(listed, clockOf)), ...listed], clockOf);
    // Mobile numbers are bound to no place, though the map gives most of them their country's capital.
    const possible = kind.isOfPlace || countries.length > 1 ? of : ofNoPlace;
    return { said: found.zones, possible, isOfPlace: kind.isOfPlace };
  };
}

/**
 * Returns a look-up of a prefix's zones by the names of places: its own, else that of the longest shorter prefix, else those
 * of its area code, else those of all longer ones.
 */
function zonesByName(named: string[], names: Map<string, string>, code: string) {
  const own = new Map<string, string[]>();
  const { patterns = [], others, areas = [] } = places[code] ?? {};
  for (const prefix of named) {
    const name = names.get(prefix) ?? "";
    const found = patterns.flatMap(([pattern, zones]) =>
      pattern.test(name) ? zones.split(" ") : [],
    );
    own.set(prefix, found.length > 0 ? found : (others?.split(" ") ?? []));
  }
  const below = new Map<string, Set<string>>();
  for (const [prefix, zones] of own) {
    for (let length = code.length + 1; length < prefix.length; length++) {
      const shorter = prefix.slice(0, length);
      const all = below.get(shorter) ?? new Set();
      for (const zone of zones) all.add(zone);
      below.set(shorter, all);
    }
  }
  const inArea = longestOf(
    new Map(
      areas.flatMap(([prefixes, zones]) =>
        prefixes.split(" ").map((prefix): [string, string[]] => [prefix, zones.split(" ")]),
      ),
    ),
  );
  const zonesAt = (prefix: string): string[] => {
    for (let length = prefix.length; length > code.length; length--) {
      const found = own.get(prefix.slice(0, length));
      if (found !== undefined && found.length > 0) return found;
    }
    return inArea(prefix)?.zones ?? [...(below.get(prefix) ?? [])];
  };
  return { zonesAt, isInArea: (prefix: string) => inArea(prefix) !== undefined };
}

function ancestors(prefixes: string[], code: string): Set<string> {
  return new Set(
    prefixes.flatMap((prefix) =>
      Array.from({ length: prefix.length - code.length }, (_, index) =>
        prefix.slice(0, code.length + 1 + index),
      ),
    ),
  );
}

/** Returns the countries for which IANA lists zones. */
export function listCountries(): string[] {
  return Object.keys(meta.countries);
}

/** Returns the zones of countries by IANA's list, one for each clock. */
export function zonesOfCountries(countries: readonly string[], clockOf: ClockOf): string[] {
  const listed: Partial<Record<string, { zones: string[] }>> = meta.countries;
  return unique(
    countries.flatMap((country) => {
      const odd = oddZones[country] ?? [];
      return (listed[country]?.zones ?? []).filter((zone) => !odd.includes(zone));
    }),
    clockOf,
  );
}

/** Returns a look-up of the longest prefix of a prefix or number. */
function longestOf<Zones>(map: Map<string, Zones>) {
  return (digits: string) => {
    for (let length = digits.length; length > 0; length--) {
      const prefix = digits.slice(0, length);
      const zones = map.get(prefix);
      if (zones !== undefined) return { prefix, zones };
    }
    return undefined;
  };
}

/** Leaves the first zone of each clock. */
function unique(zones: readonly string[], clockOf: ClockOf): string[] {
  const byClock = new Map<string, string>();
  for (const zone of zones) {
    const clock = clockOf(zone);
    if (!byClock.has(clock)) byClock.set(clock, zone);
  }
  return [...byClock.values()].toSorted();
}

/** Leaves out each prefix that says the same as the next shorter one. */
function withoutRepetitions(zones: Map<string, string[]>): Map<string, string[]> {
  const lookUp = longestOf(zones);
  return new Map(
    [...zones]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .filter(([prefix, list]) => {
        const shorter = lookUp(prefix.slice(0, -1));
        return shorter?.zones.join(" ") !== list.join(" ");
      }),
  );
}
