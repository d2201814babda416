import table from "./time-zones.json" with { type: "json" };
import { minuteMs } from "../lib/units.ts";

/** Length of a block. No zone of the table changes its clock twice within one (test/unit/telephony/time-zone.test.ts). */
const intlBlockMs = 7 * 24 * 60 * minuteMs;
/** Maximum blocks kept per zone. A month's search for an opening needs six. */
const intlBlocksMax = 32;

/** A period, in milliseconds since the epoch, in which local time is UTC + `offsetMs`. */
interface ClockSpan {
  offsetMs: number;
  /** Start of the period, inclusive. */
  from: number;
  /** End of the period, exclusive. The offset may stay the same after it. */
  until: number;
}

/** Returns the offset of local time at `at` by one source; undefined past the end of that source. */
export type Clock = (at: number) => ClockSpan | undefined;

/** A time zone with every source of its clock. A call must be permitted by each source. */
export interface Zone {
  /** Name in lower case; `+05:30` for a fixed offset. */
  name: string;
  /** The committed table of IANA data and the runtime's `Intl`; a single clock for a fixed offset. */
  clocks: readonly [Clock] | readonly [table: Clock, intl: Clock];
}

/** Known zones by their names in lower case. The number of existing names limits its size. */
const zones = new Map<string, Zone | undefined>();
/** Known zones by their spelling. There may be any number of spellings, so the size is limited. */
const zonesAsSpelled = new Map<string, Zone>();
const spellingsMax = 1_000;

/**
 * Returns the zone of an IANA name or alias in any case (`US/Eastern`), `UTC`, `Z`, or a fixed offset `±HH:MM`
 * between -12:00 and +14:00, the offsets in civil use. Undefined for other text, and for a name that the table or the
 * runtime does not know, as both must say "open".
 */
export function findZone(text: string): Zone | undefined {
  const known = zonesAsSpelled.get(text);
  if (known !== undefined) return known;
  const found = zoneBy(text);
  if (found !== undefined && zonesAsSpelled.size < spellingsMax) zonesAsSpelled.set(text, found);
  return found;
}

function zoneBy(text: string): Zone | undefined {
  const fixed = fixedOffset(text);
  if (fixed !== undefined) return fixed;
  // Only names are passed to Intl, which would also accept other spellings of offsets.
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(text)) return undefined;
  const name = text.toLowerCase();
  const words = clockWords().get(name);
  if (words === undefined) return undefined;
  if (!zones.has(name)) {
    const intl = intlClock(name);
    zones.set(name, intl && { name, clocks: [tableClock(words), intl] });
  }
  return zones.get(name);
}

export function isTimeZone(text: string): boolean {
  return findZone(text) !== undefined;
}

const eastern = "stands for -05:00 all year: use America/New_York for Eastern Time, or -05:00";
const mountain =
  "stands for -07:00 all year: use America/Denver for Mountain Time, America/Phoenix for Arizona, or -07:00";
const greenwich = "has no summer time: use Europe/London for British time, or UTC";
/**
 * IANA names that people use for the time of a country with summer time, in lower case. Other abbreviations are
 * unknown or have summer time, such as CET and EST5EDT.
 */
const ambiguous: Readonly<Record<string, string>> = {
  est: eastern,
  mst: mountain,
  gmt: greenwich,
  gmt0: greenwich,
  "gmt+0": greenwich,
  "gmt-0": greenwich,
  greenwich,
};

const ambiguousMax = Math.max(...Object.keys(ambiguous).map(({ length }) => length));

/** Returns why a client's call may not have this time zone, as the end of a sentence; undefined if it may. */
export function timeZoneProblem(text: string): string | undefined {
  if (!isTimeZone(text)) return "must be an IANA time zone, UTC, Z or an offset ±HH:MM";
  if (text.length > ambiguousMax) return undefined; // nearly all are, and lower case costs time
  const name = text.toLowerCase();
  return Object.hasOwn(ambiguous, name) ? ambiguous[name] : undefined;
}

function fixedOffset(text: string): Zone | undefined {
  const found = text === "Z" ? ["", "+", "00", "00"] : /^([+-])(\d\d):([0-5]\d)$/.exec(text);
  if (found === null) return undefined;
  const minutes = Number(found[2]) * 60 + Number(found[3]);
  if (minutes > (found[1] === "-" ? 12 * 60 : 14 * 60)) return undefined;
  const offsetMs = (found[1] === "-" ? -minutes : minutes) * minuteMs;
  const span = { offsetMs, from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };
  return { name: text, clocks: [() => span] };
}

/** Names that stand for an offset of UTC, and for no country. */
const ofNoCountry = /^(?:z|utc|uct|universal|zulu|etc\/.+|[+-].+)$/i;

/** Returns the countries of which some zone keeps the time of a zone; undefined for offsets and UTC, which are of none. */
export function countriesOfZone(name: string): ReadonlySet<string> | undefined {
  if (ofNoCountry.test(name)) return undefined;
  const index = Object.keys(table.names).indexOf(clockWords().get(name.toLowerCase()) ?? "");
  return new Set(table.countries[index]?.split(" "));
}

/**
 * Returns which of a number's zones count beside a foreign one. Beside an offset these are the zones that have it at some
 * time, or all if none has: UTC is the default of many servers, and an offset lacks summer time.
 */
export function zonesBeside(name: string, own: readonly string[]): readonly string[] {
  if (!ofNoCountry.test(name)) return own;
  const offsetMs = findZone(name)?.clocks[0](tableStart)?.offsetMs;
  const isOffset = (word: string, index: number) =>
    index % 2 === 0 && Number(word) * minuteMs === offsetMs;
  const having = own.filter((zone) =>
    clockWords().get(zone.toLowerCase())?.split(" ").some(isOffset),
  );
  return having.length > 0 ? having : own;
}

/** True if two zones keep the same time. */
export function keepSameTime(one: string, other: string): boolean {
  return clockWords().get(one.toLowerCase()) === clockWords().get(other.toLowerCase());
}

let clocksByName: Map<string, string> | undefined;

/** Each zone's clock in the table's notation, by its name in lower case. */
function clockWords(): Map<string, string> {
  clocksByName ??= new Map(
    Object.entries(table.names).flatMap(([words, names]) =>
      names.split(" ").map((name) => [name.toLowerCase(), words] as const),
    ),
  );
  return clocksByName;
}

const tableStart = Date.parse(table.start);
const tableEnd = Date.parse(table.end);
/** Clocks by notation, as zones with the same clock share it. */
const spansByWords = new Map<string, ClockSpan[]>();

/** Parses a clock of the table; infra/generate/tables.ts describes the notation. */
function tableClock(words: string): Clock {
  let spans = spansByWords.get(words);
  if (spans === undefined) {
    const [first, ...changes] = words.split(" ");
    spans = [{ offsetMs: Number(first) * minuteMs, from: tableStart, until: tableEnd }];
    let at = tableStart;
    for (let index = 0; index < changes.length; index += 2) {
      at += Number.parseInt(changes[index] ?? "", 36) * minuteMs;
      const before = spans.at(-1);
      if (before !== undefined) before.until = at;
      spans.push({ offsetMs: Number(changes[index + 1]) * minuteMs, from: at, until: tableEnd });
    }
    spansByWords.set(words, spans);
  }
  return remembering((at) => spans.find((span) => at >= span.from && at < span.until));
}

/** Returns a clock of the runtime's own data, which may be older or newer than the table. */
function intlClock(name: string): Clock | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  } catch {
    return undefined; // a RangeError: the runtime knows no such zone
  }
  const offsetAt = (at: number): number => {
    const parts = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute) - at;
  };
  const blocks = new Map<number, ClockSpan[]>();
  const blockOf = (from: number): ClockSpan[] => {
    const until = from + intlBlockMs;
    const [first, last] = [offsetAt(from), offsetAt(until - minuteMs)];
    if (first === last) return [{ offsetMs: first, from, until }];
    // Binary search for the minute of the change: the first with another offset than the block's start.
    let [before, after] = [from, until - minuteMs];
    while (after - before > minuteMs) {
      const middle = before + Math.floor((after - before) / 2 / minuteMs) * minuteMs;
      if (offsetAt(middle) === first) before = middle;
      else after = middle;
    }
    return [
      { offsetMs: first, from, until: after },
      { offsetMs: last, from: after, until },
    ];
  };
  return remembering((at) => {
    const from = Math.floor(at / intlBlockMs) * intlBlockMs;
    let block = blocks.get(from);
    if (block === undefined) {
      if (blocks.size >= intlBlocksMax) blocks.clear();
      block = blockOf(from);
      blocks.set(from, block);
    }
    return block.find((span) => at < span.until);
  });
}

/** Remembers the last span, which answers most calls. */
function remembering(spanAt: Clock): Clock {
  let last: ClockSpan | undefined;
  return (at) => {
    if (last === undefined || at < last.from || at >= last.until) last = spanAt(at);
    return last;
  };
}
