/** Structure of the JSON that a route takes. */
export interface JsonStructure {
  /** Maximum members of an array or object at each depth, the outermost first, with their name. None may lie deeper. */
  levels: readonly (readonly [most: number, of: string])[];
  /**
   * Minimum bytes of a right body per bracket. Its values have names, except those of the outermost array. Absent:
   * unknown.
   */
  bytesPerBracketMin?: number;
}

/** Bodies from this size on are judged before they are parsed. A smaller one takes at most some MB of memory. */
const judgedBytesMin = 256 * 1024;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Minimum bytes of a body per opening bracket, and per comma between values without keys, with which the body takes
 * no more memory than a usual one.
 */
const bytesPerBracket = 19;
const bytesPerComma = 20;
/** Samples one part in each window, a thirty-second of the body, at a place that nobody can predict. */
const windowBytes = 2048;
const sampleBytes = 64;
const samplesPerWindow = windowBytes / sampleBytes;

/** Counts of a sample, in one number: opening brackets, commas, colons, and bytes that occur only in strings. */
const counts = { bracket: 1, comma: 1 << 7, colon: 1 << 14, inString: 1 << 21 };
/** Numbers that each byte adds to the counts. The number of a quote is negative, and is not added. */
const quoteWeight = 1 << 31;
const weightOf = new Int32Array(256).fill(counts.inString);
for (const byte of Buffer.from(" \t\r\n0123456789+-.E]}aeflnrstu")) weightOf[byte] = 0;
weightOf[openBracket] = counts.bracket;
weightOf[openBrace] = counts.bracket;
weightOf[comma] = counts.comma;
weightOf[colon] = counts.colon;
weightOf[quote] = quoteWeight;

/**
 * Judges a large JSON body before it is parsed: 4 MiB of brackets would take 200 MB as values. A body with few
 * brackets and with keys takes no more than a usual body, and goes to the schema.
 *
 * @param random a number from 0 to 1, without 1
 * @returns the detail of the problem, or undefined
 */
export function findExcess(
  body: Uint8Array,
  structure: JsonStructure,
  random = Math.random,
): string | undefined {
  if (body.byteLength < judgedBytesMin || !isDense(body, random)) return undefined;
  return judgeStructure(body, structure);
}

/**
 * True if a sample of a thirty-second of a body has many brackets outside strings, or many commas without as many
 * colons. A body of 4 MiB with twice the permitted density passes with a probability below one in a million, wherever
 * its brackets are.
 */
export function isDense(body: Uint8Array, random: () => number): boolean {
  const bytes = toBuffer(body);
  const windows = Math.floor(bytes.length / windowBytes);
  let [brackets, commas] = [0, 0];
  for (let window = 0; window < windows; window++) {
    const start = window * windowBytes + Math.floor(random() * samplesPerWindow) * sampleBytes;
    const seen = sampleAt(bytes, start);
    brackets += Math.floor(seen / bracketWeight);
    commas += seen % bracketWeight;
  }
  const read = windows * sampleBytes;
  return brackets * bytesPerBracket > read || commas * bytesPerComma > read;
}

/**
 * Counts opening brackets, times `bracketWeight`, and commas beyond colons in a sample. Quotes divide the sample into
 * strings and the rest. A byte that only strings may contain shows which parts are strings, because the parser stops
 * at such a byte elsewhere. If neither such a byte nor the text before the sample decides, both parts count.
 */
function sampleAt(body: Buffer, start: number): number {
  const escapes = backslashesBefore(body, start);
  // Counts of the whole sample, and of the parts after its first, third … quote, without a branch for each byte.
  let [all, odd, isOdd] = [0, 0, 0];
  for (let at = start + (escapes % 2); at < start + sampleBytes; at++) {
    const byte = body[at] ?? 0;
    const weight = weightOf[byte] ?? 0;
    isOdd ^= weight >> 31;
    all += weight & ~quoteWeight;
    odd += weight & ~quoteWeight & isOdd;
    if (byte === backslash) at++;
  }
  const even = all - odd;
  if (escapes === sampleBytes) return countOutside(even) + countOutside(odd);
  const [isEvenString, isOddString] = [even >= counts.inString, odd >= counts.inString];
  const isString = isEvenString === isOddString ? beginsInString(body, start) : isEvenString;
  if (isString === undefined) return countOutside(even) + countOutside(odd);
  return countOutside(isString ? odd : even);
}

const bracketWeight = 2 * sampleBytes;

function countOutside(counted: number): number {
  const countOf = (unit: number) => Math.floor(counted / unit) % bracketWeight;
  const commas = Math.max(0, countOf(counts.comma) - countOf(counts.colon));
  return countOf(counts.bracket) * bracketWeight + commas;
}

/**
 * Bytes before a sample in which its last quote is searched, and bytes before this quote that show what the quote is.
 */
const quoteBytes = 2048;
const keyBytes = 64;

/**
 * True if a byte is in a string, in JSON that the parser reads up to this byte; undefined if the bytes before it do
 * not show that.
 */
function beginsInString(body: Buffer, start: number): boolean | undefined {
  const first = Math.max(0, start - quoteBytes);
  const last = first + body.subarray(first, start).lastIndexOf(quote);
  let isOdd = false; // quotes from here to the sample
  for (let at = last; at >= Math.max(first, last - keyBytes); at--) {
    const weight = weightOf[body[at] ?? 0] ?? 0;
    if (weight >= counts.inString) return !isOdd;
    if (weight !== quoteWeight) continue;
    const escapes = backslashesBefore(body, at);
    // Strings alone have backslashes. Behind an even number of them, a quote ends one.
    if (escapes > 0) return escapes === sampleBytes ? undefined : (escapes % 2 === 1) !== isOdd;
    isOdd = !isOdd;
  }
  return undefined;
}

/** Returns the number of backslashes right before a byte, at most the bytes of a sample. */
function backslashesBefore(body: Buffer, at: number): number {
  let count = 0;
  while (count < sampleBytes && body[at - 1 - count] === backslash) count++;
  return count;
}

/**
 * Judges the structure of a JSON body. It reads only brackets and commas, and skips strings. Malformed JSON is left
 * to the parser. A body that is denser than any right one is refused as soon as that shows: its values may take ten
 * times its size.
 *
 * @returns the detail of the problem, or undefined
 */
export function judgeStructure(
  body: Uint8Array,
  { levels, bytesPerBracketMin }: JsonStructure,
): string | undefined {
  const bytes = toBuffer(body);
  const { length } = bytes;
  // By depth. Arrays of numbers halve the time.
  const membersMax = Int32Array.from([noMaximum, ...levels.map(([most]) => most)]);
  const membersOf = new Int32Array(levels.length + 1);
  const bytesPerBracketOf = bytesPerBracketMin ?? 0;
  const unnamedMax = bytesPerBracketMin === undefined ? noMaximum : unnamedSlack;
  let [at, depth, members, most] = [0, 0, 0, noMaximum];
  let [brackets, unnamed] = [0, 0]; // opening brackets, and commas beyond colons
  while (at < length) {
    const byte = bytes[at] ?? 0;
    at += 1;
    if (byte === quote) {
      // Most strings are short, and a call would cost as much as they.
      const near = Math.min(length, at + shortBytes);
      for (let inside = bytes[at]; at < near && inside !== quote; inside = bytes[at]) {
        at += inside === backslash ? 2 : 1;
      }
      if (at >= near) at = endOfString(bytes, at);
      at += 1;
    } else if (byte === comma) {
      members += 1;
      unnamed += 1;
      if (members > most) return `must have at most ${most} ${levels[depth - 1]?.[1]}`;
      if (unnamed > unnamedMax) return tooDense;
    } else if (byte === colon) {
      unnamed -= 1;
    } else if (byte >= openBracket) {
      const bracket = byte | 0x20; // a brace of the same kind
      if (bracket === openBrace) {
        if (depth === levels.length) return `must not be nested more than ${depth} deep`;
        brackets += 1;
        if (brackets * bytesPerBracketOf > at + denseBytes) return tooDense;
        membersOf[depth] = members;
        depth += 1;
        most = membersMax[depth] ?? 0;
        members = 1;
      } else if (bracket === closeBrace) {
        if (depth > 0) depth -= 1;
        most = membersMax[depth] ?? 0;
        members = membersOf[depth] ?? 0;
      }
    }
  }
  return undefined;
}

const noMaximum = 2 ** 31 - 1;
const tooDense = "must have fewer brackets and commas for its size";
/** Bytes of a body that may have any density, and the number of values without names that is negligible. */
const denseBytes = 4 * 1024;
const unnamedSlack = 1000;

/** Bytes that are read one by one before the rest of a string is searched by a call. */
const shortBytes = 48;
/** The same after an escaped quote. */
const longBytes = 512;

/** Returns the index of the closing quote of a string that is read up to a byte of it, or the length of the bytes. */
function endOfString(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const next = bytes.indexOf(quote, at);
    if (next < 0) break;
    if (bytes[next - 1] !== backslash) return next;
    // Where one quote is escaped, the next may be, too.
    const near = Math.min(bytes.length, next + longBytes);
    while (at < near) {
      const byte = bytes[at];
      if (byte === quote) return at;
      at += byte === backslash ? 2 : 1;
    }
  }
  return bytes.length;
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
