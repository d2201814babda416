import { getOrMake } from "../lib/get-or-make.ts";
import { countryOf } from "./phone-number.ts";
import { countriesOfZone, keepSameTime, zonesBeside } from "./time-zone.ts";
import ofPrefixes from "./zones-of-prefixes.json" with { type: "json" };

const none: readonly string[] = [];
let zonesByPrefix: Map<string, readonly string[]> | undefined;

/**
 * Returns the zones in which a number may ring, by its longest known prefix, one of each clock: one for most area codes, some
 * twenty for `+1800…`, none for a satellite phone. Where the sources of infra/generate/zones disagree, it has the zones of
 * both. All of them count: people keep their numbers when they move, so a call's `timezone` says more (`zonesOfCall`).
 *
 * @param phoneNumber E.164
 */
export function zonesOfNumber(phoneNumber: string): readonly string[] {
  zonesByPrefix ??= readPrefixes(ofPrefixes);
  const digits = phoneNumber.slice(1);
  for (let length = digits.length; length > 0; length--) {
    const zones = zonesByPrefix.get(digits.slice(0, length));
    if (zones !== undefined) return zones;
  }
  return none;
}

/**
 * Returns the table of zones by prefix. Each list is a trie: a digit ends a prefix, a letter (`a` is 0) leads down to longer
 * ones, a dot ends a prefix that has longer ones, and a space leads up.
 */
export function readPrefixes(
  table: Readonly<Record<string, string>>,
): Map<string, readonly string[]> {
  const zonesOf = new Map<string, readonly string[]>();
  for (const [list, trie] of Object.entries(table)) {
    const zones = list.split(" ");
    let prefix = "";
    for (const step of trie) {
      if (step === " ") prefix = prefix.slice(0, -1);
      else if (step === ".") zonesOf.set(prefix, zones);
      else if (step >= "a") prefix += step.charCodeAt(0) - zeroLetter;
      else zonesOf.set(prefix + step, zones);
    }
  }
  return zonesOf;
}

const zeroLetter = "a".charCodeAt(0);

/**
 * Returns the zones in which a call's hours must be open: its `timezone`, or else those of its number. A `timezone`
 * is foreign if no zone of the number's country has its time. It may be a mistake, so the number's own zones count
 * too. UTC and offsets are always foreign.
 *
 * @returns the same array for the same zones
 */
export function zonesOfCall({ phone_number, timezone }: NumberAndZone): string | readonly string[] {
  if (timezone === undefined) return zonesOfNumber(phone_number);
  if (!isForeign(timezone, phone_number)) return timezone;
  const own = zonesOfNumber(phone_number);
  // The country of a new area code may be unknown, though its zones are known.
  const isKnown = own.length === 0 || own.some((zone) => keepSameTime(zone, timezone));
  return isKnown ? timezone : both(timezone, own);
}

interface NumberAndZone {
  phone_number: string;
  timezone?: string | undefined;
}

/** Countries that keep the time of a zone, by its name; null for names of no country. */
const countriesByZone = new Map<string, ReadonlySet<string> | null>();
const namesMax = 1_000;

/** True if no zone of the number's country keeps the time of a zone, and for names of no country. */
function isForeign(timezone: string, phoneNumber: string): boolean {
  let countries = countriesByZone.get(timezone);
  if (countries === undefined) {
    countries = countriesOfZone(timezone) ?? null;
    if (countriesByZone.size < namesMax) countriesByZone.set(timezone, countries);
  }
  if (countries === null) return true;
  const country = countryOf(phoneNumber);
  return country !== undefined && !countries.has(country);
}

const withForeign = new Map<string, WeakMap<readonly string[], readonly string[]>>();

/** Returns a foreign zone and those of the number's own that count beside it. */
function both(timezone: string, own: readonly string[]): readonly string[] {
  const known = withForeign.get(timezone) ?? new WeakMap<readonly string[], readonly string[]>();
  if (withForeign.size < namesMax) withForeign.set(timezone, known);
  return getOrMake(known, own, () => [timezone, ...zonesBeside(timezone, own)]);
}

/** Returns the names of all zones that count for a call, by `zonesOfCall` or else the plan's default; empty if there is none. */
export function zoneNamesOf(
  call: NumberAndZone,
  defaultTimeZone: string | undefined,
): readonly string[] {
  const zones = zonesOfCall(call);
  if (typeof zones === "string") return [zones];
  if (zones.length > 0) return zones;
  return defaultTimeZone === undefined ? none : [defaultTimeZone];
}

/**
 * Returns the country whose zone this is by name: of the first prefix that rings in this zone alone. Undefined for a name
 * that the table lacks.
 */
export function countryOfZone(zone: string): string | undefined {
  zonesByPrefix ??= readPrefixes(ofPrefixes);
  for (const [prefix, [first, ...others]] of zonesByPrefix) {
    if (first !== zone || others.length > 0) continue;
    return countryOf(`+${prefix.padEnd(11, "5550123555")}`) ?? countryOf(`+${prefix}`);
  }
  return undefined;
}
