/**
 * `npm run tables`: regenerates the tables of shared from the packages that package.json pins. The runtimes'
 * own time-zone data is months to years old; moment-timezone's is the current IANA release.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CountryCode, Metadata } from "libphonenumber-js/core";
import maxMetadata from "libphonenumber-js/max/metadata";
import minMetadata from "libphonenumber-js/min/metadata";
import permitAt from "moment-timezone";
import packed from "moment-timezone/data/packed/latest.json" with { type: "json" };
import { printHelp } from "../cli/help.ts";
import { readPrefixes } from "#shared/telephony/zones-of-number.ts";
import { reportChanges } from "./zones/report-changes.ts";
import { readSources } from "./zones/zone-sources.ts";
import { combine, listCountries, zonesOfCountries } from "./zones/zones-of-prefixes.ts";

/** Whole years, UTC. After the last one nobody is dialed, so it must be moved on once a year. */
const [firstYear, lastYear] = [2026, 2036];

const directory = join(import.meta.dirname, "../../shared");

/** The tables, and what a person should know of them. */
interface Tables {
  /** Each table as the text of its file in shared. */
  files: Record<string, string>;
  ofPrefixes: ReadonlyMap<string, readonly string[]>;
  notes: readonly string[];
}

/** Returns the names of a table of zones by clock as a look-up of a zone's clock. @throws if a zone is unknown */
export function clocksIn(names: Readonly<Record<string, string>>): (zone: string) => string {
  const clocks = new Map(
    Object.entries(names).flatMap(([clock, all]) => all.split(" ").map((name) => [name, clock])),
  );
  return (zone) => {
    const clock = clocks.get(zone);
    if (clock === undefined) throw new Error(`there is no zone ${zone}`);
    return clock;
  };
}

export async function makeTables(): Promise<Tables> {
  const zones = timeZones();
  const clockOf = clocksIn(zones.names);
  const { zones: ofPrefixes, notes } = combine(await readSources(), { clockOf });
  const text = (table: object) => `${JSON.stringify(table, null, 2)}\n`;
  return {
    files: {
      "telephony/calling-codes.json": text(callingCodes()),
      "telephony/time-zones.json": text({ ...zones, countries: byClocks(zones.names, clockOf) }),
      "telephony/zones-of-prefixes.json": text(byZones(ofPrefixes)),
    },
    ofPrefixes,
    notes,
  };
}

/** The numbering plan of a country or calling code in libphonenumber-js, whose types leave most of it out. */
interface NumberingPlan {
  nationalPrefixForParsing(): string | undefined;
  nationalPrefixTransformRule(): string | undefined;
  nationalNumberPattern(): string;
  possibleLengths(): number[];
  leadingDigits(): string | undefined;
  type(kind: string): { pattern(): string; possibleLengths(): number[] } | undefined;
}

const kindsOfNumber =
  "FIXED_LINE MOBILE PREMIUM_RATE TOLL_FREE SHARED_COST VOIP PERSONAL_NUMBER PAGER UAN VOICEMAIL";

/**
 * Returns the parts of libphonenumber's numbering plans that are needed to read an E.164 number: trunk
 * prefixes, which do not belong into it, and the digits that distinguish the countries of one calling code.
 * `readCallingCode` of shared/telephony/phone-number.ts describes and reads their notation.
 */
function callingCodes() {
  const planOf = (countryOrCode: string, metadata = minMetadata): NumberingPlan => {
    const all = new Metadata(metadata);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- test/unit/telephony/phone-number.test.ts compares all of it
    all.selectNumberingPlan(countryOrCode as CountryCode);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- likewise
    return all.numberingPlan as unknown as NumberingPlan;
  };
  const { country_calling_codes: ofCountries, nonGeographic } = minMetadata;
  const codes = [...Object.keys(ofCountries), ...Object.keys(nonGeographic)];
  return Object.fromEntries(
    codes.map((code) => {
      const names = ofCountries[code] ?? [];
      const plan = planOf(code);
      const lengths = plan.possibleLengths().join(" ");
      const trunk = plan.nationalPrefixForParsing();
      const countries = names.flatMap((country) => {
        const own = planOf(country);
        const premium = planOf(country, maxMetadata).type("PREMIUM_RATE")?.pattern() || "";
        const ownLengths = own.possibleLengths().join(" ");
        const leading = names.length === 1 ? "" : own.leadingDigits() || "";
        const isClaimed = names.length > 1 && leading === "";
        const kinds = isClaimed ? kindsOf(own) : [];
        const pattern = isClaimed ? own.nationalNumberPattern() : "";
        const listed = ownLengths === lengths ? "" : asWord(ownLengths);
        return [`@${country}`, listed, ...[leading, pattern, premium, ...kinds].map(asWord)];
      });
      const transform = plan.nationalPrefixTransformRule() || "";
      const parts = trunk
        ? ["trunk", ...[trunk, transform, plan.nationalNumberPattern()].map(asWord)]
        : [];
      return [code, [asWord(lengths), ...parts, ...countries].join(" ").trimEnd()];
    }),
  );
}

/** Returns the patterns of each kind of number, each with the digit counts that follow it. */
function kindsOf(plan: NumberingPlan): string[] {
  return kindsOfNumber.split(" ").flatMap((kind) => {
    const type = plan.type(kind);
    if (!type?.pattern()) return [];
    return [type.pattern(), type.possibleLengths().join(" ")];
  });
}

/** Shortens what patterns and lists of digit counts have most of. */
function asWord(text: string): string {
  if (/[d!_]/.test(text.replaceAll("\\d", ""))) throw new Error(`cannot shorten ${text}`);
  return text.replaceAll("\\d", "d").replaceAll("(?:", "!").replaceAll(" ", "_");
}

/**
 * Lists every zone and alias by its clock: the offset from UTC in minutes at the start, then in turn the
 * minutes (base 36) until the next change and the offset after it.
 */
function timeZones() {
  permitAt.tz.load(packed);
  const start = Date.UTC(firstYear, 0, 1);
  const end = Date.UTC(lastYear + 1, 0, 1);
  const names = new Map<string, string[]>();
  for (const name of permitAt.tz.names().toSorted()) {
    const zone = permitAt.tz.zone(name);
    if (zone === null) throw new Error(`moment-timezone does not know its own ${name}`);
    const changes = zone.untils.filter((at) => at > start && at < end);
    let last = start;
    let offset = -zone.utcOffset(start);
    const words = [String(offset)];
    for (const at of changes) {
      const after = -zone.utcOffset(at);
      if (after === offset) continue; // only the abbreviation changes
      words.push(((at - last) / 60_000).toString(36), String(after));
      [last, offset] = [at, after];
    }
    const clock = words.join(" ");
    names.set(clock, [...(names.get(clock) ?? []), name]);
  }
  return {
    version: packed.version,
    start: new Date(start).toISOString(),
    end: new Date(end).toISOString(),
    names: Object.fromEntries([...names].map(([clock, all]) => [clock, all.join(" ")])),
  };
}

/** Lists the countries in which each clock is kept, in the order of the clocks. */
function byClocks(names: Readonly<Record<string, string>>, clockOf: (zone: string) => string) {
  const countries = new Map<string, string[]>();
  for (const country of listCountries()) {
    for (const zone of zonesOfCountries([country], clockOf)) {
      const clock = clockOf(zone);
      countries.set(clock, [...(countries.get(clock) ?? []), country]);
    }
  }
  return Object.keys(names).map((clock) => (countries.get(clock) ?? []).join(" "));
}

/**
 * Lists the prefixes of E.164 numbers by the zones they lie in (zones/zones-of-prefixes.ts), each list as a trie that
 * `readPrefixes` describes: two fifths of the bundle's bytes less.
 */
function byZones(zones: ReadonlyMap<string, readonly string[]>): Record<string, string> {
  const prefixes = new Map<string, string[]>();
  for (const [prefix, list] of zones) {
    const key = list.join(" ");
    prefixes.set(key, [...(prefixes.get(key) ?? []), prefix]);
  }
  return Object.fromEntries([...prefixes].map(([list, all]) => [list, trieOf(all).trimEnd()]));
}

function trieOf(prefixes: readonly string[]): string {
  const byDigit = Map.groupBy(prefixes.toSorted(), ([digit = ""]) => digit);
  const branches = [...byDigit].map(([digit, all]) => {
    const longer = all.filter(({ length }) => length > 1).map((prefix) => prefix.slice(1));
    if (longer.length === 0) return digit;
    const own = longer.length < all.length ? "." : "";
    return `${"abcdefghij"[Number(digit)]}${own}${trieOf(longer)} `;
  });
  return branches.join("");
}

if (import.meta.main) {
  printHelp(`npm run tables

Writes the tables of calling codes, time zones and numbers' zones in shared/telephony again, from the packages that
package.json names and infra/generate/zones. Prints what the sources of zones disagree on, and which numbers may be called
at other hours than by the table before.`);
  const { files, ofPrefixes, notes } = await makeTables();
  const before = await readFile(join(directory, "telephony/zones-of-prefixes.json"), "utf8");
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  for (const note of notes) console.log(note);
  const { names } = JSON.parse(files["telephony/time-zones.json"] ?? "");
  const former = readPrefixes(JSON.parse(before));
  for (const line of reportChanges(former, ofPrefixes, clocksIn(names))) console.log(line);
}
