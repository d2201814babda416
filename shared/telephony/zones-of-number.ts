import { callingCodeOf } from "./phone-number.ts";
import { clockOfCountry } from "./time-zone.ts";
import ofPrefixes from "./zones-of-prefixes.json" with { type: "json" };

const none: readonly string[] = [];
let zonesByPrefix: Map<string, readonly string[]> | undefined;

/**
 * Returns the zones in which a number may ring, by its longest known prefix, one of each clock: one for most area codes, some
 * twenty for `+1800…`, none for a satellite phone. Where the sources of infra/generate/zones disagree, it has the zones of
 * both. All of them count: people keep their numbers when they move, so a call's `timezone` tells more (`zonesOfCall`).
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

/** Returns the table of zones by prefix. infra/generate/tables.ts describes how it is written. */
export function readPrefixes(
  table: Readonly<Record<string, string>>,
): Map<string, readonly string[]> {
  const zonesOf = new Map<string, readonly string[]>();
  for (const [list, words] of Object.entries(table)) {
    const zones = list.split(" ");
    let prefix = "";
    for (const word of words.split(" ")) {
      prefix = prefix.slice(0, Number(word[0])) + word.slice(1);
      zonesOf.set(prefix, zones);
    }
  }
  return zonesOf;
}

/**
 * Returns the zones in which a call's hours must be open: its `timezone`, or else those of its number. A `timezone` whose clock
 * no zone of the number's calling code keeps is of another country: it may be a mistake, so it counts beside the number's own.
 *
 * @returns the same array for the same zones
 */
export function zonesOfCall({ phone_number, timezone }: NumberAndZone): string | readonly string[] {
  if (timezone === undefined) return zonesOfNumber(phone_number);
  if (!isForeign(timezone, phone_number)) return timezone;
  const own = zonesOfNumber(phone_number);
  return own.length === 0 ? timezone : both(timezone, own);
}

interface NumberAndZone {
  phone_number: string;
  timezone?: string | undefined;
}

/** Calling codes of which some zone keeps a zone's clock, by the zone's name; null for names of no country. */
const codesByZone = new Map<string, ReadonlySet<string> | null>();
const namesMax = 1_000;

/** True if no zone of the number's calling code keeps the clock of a zone. */
function isForeign(timezone: string, phoneNumber: string): boolean {
  let codes = codesByZone.get(timezone);
  if (codes === undefined) {
    codes = codesOf(timezone);
    if (codesByZone.size < namesMax) codesByZone.set(timezone, codes);
  }
  if (codes === null) return false;
  const code = callingCodeOf(phoneNumber);
  return code !== undefined && !codes.has(code);
}

function codesOf(timezone: string): ReadonlySet<string> | null {
  const clock = clockOfCountry(timezone);
  if (clock === undefined) return null;
  codesByClock ??= readCodes();
  return codesByClock.get(clock) ?? new Set();
}

let codesByClock: Map<string, Set<string>> | undefined;

/** Returns the calling codes of which some zone keeps each clock. */
function readCodes(): Map<string, Set<string>> {
  zonesByPrefix ??= readPrefixes(ofPrefixes);
  const codes = new Map<string, Set<string>>();
  for (const [prefix, zones] of zonesByPrefix) {
    const code = callingCodeOf(`+${prefix}`) ?? "";
    for (const zone of zones) {
      const clock = clockOfCountry(zone) ?? "";
      codes.set(clock, (codes.get(clock) ?? new Set()).add(code));
    }
  }
  return codes;
}

const withForeign = new Map<string, WeakMap<readonly string[], readonly string[]>>();

/** Returns a foreign zone and the number's own. */
function both(timezone: string, own: readonly string[]): readonly string[] {
  const known = withForeign.get(timezone) ?? new WeakMap<readonly string[], readonly string[]>();
  if (withForeign.size < namesMax) withForeign.set(timezone, known);
  const zones = known.get(own) ?? [timezone, ...own];
  known.set(own, zones);
  return zones;
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
