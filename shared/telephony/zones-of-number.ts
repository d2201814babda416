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

/** Returns the zones in which a call's hours must be open: its `timezone`, or else those of its number. */
export function zonesOfCall({
  phone_number,
  timezone,
}: {
  phone_number: string;
  timezone?: string | undefined;
}): string | readonly string[] {
  return timezone ?? zonesOfNumber(phone_number);
}

/** Returns the names of all zones that count for a call, by `zonesOfCall` or else the plan's default; empty if there is none. */
export function zoneNamesOf(
  call: Parameters<typeof zonesOfCall>[0],
  defaultTimeZone: string | undefined,
): readonly string[] {
  const zones = zonesOfCall(call);
  if (typeof zones === "string") return [zones];
  if (zones.length > 0) return zones;
  return defaultTimeZone === undefined ? none : [defaultTimeZone];
}
