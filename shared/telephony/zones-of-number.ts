import table from "./zones-of-prefixes.json" with { type: "json" };

const none: readonly string[] = [];
let zonesByPrefix: Map<string, readonly string[]> | undefined;

/**
 * Returns the zones in which a number may be, by its longest known prefix: one for most area codes, some forty for
 * `+1800…`, none for a satellite phone. This is a guess, as people keep their numbers when they move, so a call's
 * `timezone` takes precedence. The table follows Google's libphonenumber (infra/generate/tables.ts).
 *
 * @param phoneNumber E.164
 */
export function zonesOfNumber(phoneNumber: string): readonly string[] {
  zonesByPrefix ??= new Map(
    Object.entries(table).flatMap(([list, prefixes]) => {
      const zones = list.split(" ");
      return prefixes.split(" ").map((prefix) => [prefix, zones] as const);
    }),
  );
  const digits = phoneNumber.slice(1);
  for (let length = digits.length; length > 0; length--) {
    const zones = zonesByPrefix.get(digits.slice(0, length));
    if (zones !== undefined) return zones;
  }
  return none;
}
