/** Structure of the JSON that a route takes. */
export interface JsonStructure {
  /** Maximum members of an array or object at each depth, the outermost first, with their name. None may lie deeper. */
  levels: readonly (readonly [most: number, of: string])[];
  /**
   * Bytes that a right body has for each of its brackets at least. Its values have names, but for those of the outermost array.
   * Absent: not known.
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

/** Bytes of a body for each opening bracket, and for each comma between values without keys, from which on it takes no more than a usual one. */
const bytesPerBracket = 19;
const bytesPerComma = 20;
/** A look in each window, of which a thirty-second part is read, at a place that nobody can foresee. */
const windowBytes = 2048;
const lookBytes = 64;
const looksPerWindow = windowBytes / lookBytes;

/** Counts of a look, in one number: opening brackets, commas, colons, and bytes that stand in strings alone. */
const counts = { bracket: 1, comma: 1 << 7, colon: 1 << 14, inString: 1 << 21 };
/** Numbers that each byte adds to the counts. That of a quote is negative, and adds nothing. */
const quoteWeight = 1 << 31;
const weightOf = new Int32Array(256).fill(counts.inString);
for (const byte of Buffer.from(" \t\r\n0123456789+-.E]}aeflnrstu")) weightOf[byte] = 0;
weightOf[openBracket] = counts.bracket;
weightOf[openBrace] = counts.bracket;
weightOf[comma] = counts.comma;
weightOf[colon] = counts.colon;
weightOf[quote] = quoteWeight;

/**
 * Judges a large JSON body before it is parsed: 4 MiB of brackets would take 200 MB as values. A body of few brackets, whose values have
 * keys, takes no more than a usual one, and is left to the schema.
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
 * True if a body has many brackets outside of strings, or many commas without as many colons, as a thirty-second part of it says: of bodies of
 * 4 MiB with twice what is let pass, not one in a million passes, wherever the brackets stand.
 */
export function isDense(body: Uint8Array, random: () => number): boolean {
  const bytes = toBuffer(body);
  const windows = Math.floor(bytes.length / windowBytes);
  let [brackets, commas] = [0, 0];
  for (let window = 0; window < windows; window++) {
    const start = window * windowBytes + Math.floor(random() * looksPerWindow) * lookBytes;
    const seen = lookAt(bytes, start);
    brackets += Math.floor(seen / bracketWeight);
    commas += seen % bracketWeight;
  }
  const read = windows * lookBytes;
  return brackets * bytesPerBracket > read || commas * bytesPerComma > read;
}

/**
 * Counts opening brackets, times `bracketWeight`, and commas beyond colons in a look. Quotes part it into what is in strings and
 * what is not. A byte that only strings may have decides which is which: elsewhere the parser stops at it. Where neither such a byte nor
 * what stands before the look decides, both count.
 */
function lookAt(body: Buffer, start: number): number {
  const escapes = backslashesBefore(body, start);
  // Counts of the whole look, and of what stands behind its first, third … quote, without a branch for each byte.
  let [all, odd, isOdd] = [0, 0, 0];
  for (let at = start + (escapes % 2); at < start + lookBytes; at++) {
    const byte = body[at] ?? 0;
    const weight = weightOf[byte] ?? 0;
    isOdd ^= weight >> 31;
    all += weight & ~quoteWeight;
    odd += weight & ~quoteWeight & isOdd;
    if (byte === backslash) at++;
  }
  const even = all - odd;
  if (escapes === lookBytes) return countOutside(even) + countOutside(odd);
  const [isEvenString, isOddString] = [even >= counts.inString, odd >= counts.inString];
  const isString = isEvenString === isOddString ? beginsInString(body, start) : isEvenString;
  if (isString === undefined) return countOutside(even) + countOutside(odd);
  return countOutside(isString ? odd : even);
}

const bracketWeight = 2 * lookBytes;

function countOutside(counted: number): number {
  const countOf = (unit: number) => Math.floor(counted / unit) % bracketWeight;
  const commas = Math.max(0, countOf(counts.comma) - countOf(counts.colon));
  return countOf(counts.bracket) * bracketWeight + commas;
}

/** Bytes before a look in which its last quote is searched, and before this quote in which it is found out what that quote is. */
const quoteBytes = 2048;
const keyBytes = 64;

/** True if a byte is in a string, in JSON that the parser reads up to there; undefined if what stands before it does not tell. */
function beginsInString(body: Buffer, start: number): boolean | undefined {
  const first = Math.max(0, start - quoteBytes);
  const last = first + body.subarray(first, start).lastIndexOf(quote);
  let isOdd = false; // quotes from here to the look
  for (let at = last; at >= Math.max(first, last - keyBytes); at--) {
    const weight = weightOf[body[at] ?? 0] ?? 0;
    if (weight >= counts.inString) return !isOdd;
    if (weight !== quoteWeight) continue;
    const escapes = backslashesBefore(body, at);
    // Strings alone have backslashes. Behind an even number of them, a quote ends one.
    if (escapes > 0) return escapes === lookBytes ? undefined : (escapes % 2 === 1) !== isOdd;
    isOdd = !isOdd;
  }
  return undefined;
}

/** Returns the number of backslashes right before a byte, at most the bytes of a look. */
function backslashesBefore(body: Buffer, at: number): number {
  let count = 0;
  while (count < lookBytes && body[at - 1 - count] === backslash) count++;
  return count;
}

/**
 * Judges the structure of a JSON body. Reads brackets and commas alone, and skips strings. Malformed JSON is left to the
 * parser. A body that is denser than any right one is refused where that shows: its values may take ten times its size.
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
/** Bytes of a body that may be as dense as they like, and values without names that are as good as none. */
const denseBytes = 4 * 1024;
const unnamedSlack = 1000;

/** Bytes that are looked at one by one before the rest of a string is searched, which costs a call. */
const shortBytes = 48;
/** Likewise, behind a quote that is escaped. */
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
