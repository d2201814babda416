/** Hours of a day in which calls are permitted in the examples. */
const examples = [
  [8, 21],
  [9, 18],
] as const;

/**
 * Reports, in lines of text, how many hours of a day are left for numbers whose zones have changed, if hours must be
 * open in all of them at once.
 */
export function reportChanges(
  former: ReadonlyMap<string, readonly string[]>,
  after: ReadonlyMap<string, readonly string[]>,
  clockOf: (zone: string) => string,
): string[] {
  const prefixes = new Set([...former.keys(), ...after.keys()]);
  const changes = new Map<string, string[]>();
  for (const prefix of prefixes) {
    const [was = [], is = []] = [zonesAt(former, prefix), zonesAt(after, prefix)];
    const clocks = (zones: readonly string[]) => [...new Set(zones.map(clockOf))].toSorted().join();
    if (clocks(was) === clocks(is)) continue;
    const hours = (zones: readonly string[]) =>
      examples.map((window) => hoursLeft(zones, window, clockOf)).join(" and ");
    const text = `${is.join(" ")}: ${hours(is)} hours a day with hours of 8–21 and of 9–18, formerly ${hours(was)} (${was.join(" ")})`;
    changes.set(text, [...(changes.get(text) ?? []), prefix]);
  }
  return [...changes].map(([text, [first = "", ...more]]) => {
    const others = more.length > 0 ? ` and ${more.length} more` : "";
    return `+${first}${others}: ${text}`;
  });
}

/** Returns the zones of the longest prefix of a prefix. */
function zonesAt(table: ReadonlyMap<string, readonly string[]>, prefix: string) {
  for (let length = prefix.length; length > 0; length--) {
    const zones = table.get(prefix.slice(0, length));
    if (zones !== undefined) return zones;
  }
  return undefined;
}

const stepMinutes = 15;
const dayMinutes = 24 * 60;
const daysLooked = 366;

/**
 * Returns the fewest hours of a day in which local time is in a window in all zones, over a year.
 *
 * @param window first and last hour
 * @param clockOf a clock: its offset from UTC in minutes, then in turn the minutes until a change, in base 36, and the offset after it
 */
export function hoursLeft(
  zones: readonly string[],
  [first, last]: readonly [number, number],
  clockOf: (zone: string) => string,
): number {
  const clocks = zones.map((zone) => offsetsOf(clockOf(zone)));
  const seen = new Set<string>();
  let fewest = 24;
  for (let day = 0; day < daysLooked; day++) {
    const offsets = clocks.map((offsetAt) => offsetAt(day * dayMinutes));
    const key = offsets.join();
    if (seen.has(key)) continue;
    seen.add(key);
    let minutes = 0;
    for (let minute = 0; minute < dayMinutes; minute += stepMinutes) {
      const isOpen = offsets.every((offset) => {
        const local = (minute + offset + dayMinutes) % dayMinutes;
        return local >= first * 60 && local < last * 60;
      });
      if (isOpen) minutes += stepMinutes;
    }
    fewest = Math.min(fewest, minutes / 60);
  }
  return fewest;
}

/** Returns a look-up of a clock's offset, in minutes, by the minutes since the table's start. */
function offsetsOf(clock: string): (minute: number) => number {
  const [start, ...changes] = clock.split(" ");
  return (minute) => {
    let [at, offset] = [0, Number(start)];
    for (let index = 0; index < changes.length; index += 2) {
      at += Number.parseInt(changes[index] ?? "", 36);
      if (at > minute) break;
      offset = Number(changes[index + 1]);
    }
    return offset;
  };
}
