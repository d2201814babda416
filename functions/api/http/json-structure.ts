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
const bytesPerBracket = 25;
const bytesPerComma = 20;
/** A look in each window, of which a sixteenth is read, at a place that nobody can foresee. */
const windowBytes = 1024;
const lookBytes = 64;
const looksPerWindow = windowBytes / lookBytes;

/** Kinds of bytes of JSON. A byte of kind `other` stands in strings alone. */
const kinds = {
  other: 0,
  space: 1,
  bracket: 2,
  comma: 3,
  colon: 4,
  quote: 5,
  backslash: 6,
} as const;
const kindOf = new Uint8Array(256);
for (const byte of Buffer.from(" \t\r\n0123456789+-.E]}aeflnrstu")) kindOf[byte] = kinds.space;
kindOf[openBracket] = kinds.bracket;
kindOf[openBrace] = kinds.bracket;
kindOf[comma] = kinds.comma;
kindOf[colon] = kinds.colon;
kindOf[quote] = kinds.quote;
kindOf[backslash] = kinds.backslash;

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
  const { excess, brackets, commas, colons } = readStructure(body, structure);
  const { bytesPerBracketMin = 0 } = structure;
  if (excess !== undefined || bytesPerBracketMin === 0) return excess;
  // A body that the schema would refuse is not parsed: its values may take ten times its size.
  const isTooDense = brackets * bytesPerBracketMin > body.byteLength || commas > colons;
  return isTooDense ? "must have fewer brackets and commas for its size" : undefined;
}

/**
 * True if a body has many brackets outside of strings, or many commas without as many colons, as a sixteenth of it says: of bodies of
 * 4 MiB with twice what is let pass, not one in a million passes, wherever the brackets stand.
 */
export function isDense(body: Uint8Array, random: () => number): boolean {
  const windows = Math.floor(body.byteLength / windowBytes);
  let [brackets, commas] = [0, 0];
  for (let window = 0; window < windows; window++) {
    const start = window * windowBytes + Math.floor(random() * looksPerWindow) * lookBytes;
    const seen = lookAt(body, start);
    brackets += Math.floor(seen / bracketWeight);
    commas += seen % bracketWeight;
  }
  const read = windows * lookBytes;
  return brackets * bytesPerBracket > read || commas * bytesPerComma > read;
}

const bracketWeight = 2 * lookBytes;

/**
 * Counts opening brackets, times `bracketWeight`, and commas beyond colons in a look. Quotes part it into what is in strings and
 * what is not. A byte that only strings may have decides which is which: elsewhere the parser stops at it. Without such a byte, the larger
 * of both counts.
 */
function lookAt(body: Uint8Array, start: number): number {
  // Sums of the part that the look begins with, and of each second part after it; then those of the other parts.
  let [brackets, commas, isString] = [0, 0, false];
  let [otherBrackets, otherCommas, otherIsString] = [0, 0, false];
  const escapes = backslashesBefore(body, start);
  for (let at = start + (escapes % 2); at < start + lookBytes; at++) {
    const kind = kindOf[body[at] ?? 0] ?? 0;
    if (kind === kinds.space) continue;
    if (kind === kinds.comma) commas++;
    else if (kind === kinds.colon) commas--;
    else if (kind === kinds.bracket) brackets++;
    else if (kind === kinds.quote) {
      [brackets, otherBrackets] = [otherBrackets, brackets];
      [commas, otherCommas] = [otherCommas, commas];
      [isString, otherIsString] = [otherIsString, isString];
    } else {
      isString = true;
      if (kind === kinds.backslash) at++;
    }
  }
  const own = brackets * bracketWeight + Math.max(0, commas);
  const other = otherBrackets * bracketWeight + Math.max(0, otherCommas);
  if (isString === otherIsString || escapes === lookBytes) return own + other;
  return isString ? other : own;
}

/** Returns the number of backslashes right before a byte, at most the bytes of a look. */
function backslashesBefore(body: Uint8Array, at: number): number {
  let count = 0;
  while (count < lookBytes && body[at - 1 - count] === backslash) count++;
  return count;
}

/**
 * Judges the structure of a JSON body. Reads brackets and commas alone, and skips strings. Malformed JSON is left to the
 * parser.
 *
 * @returns the detail of the problem, or undefined
 */
export function judgeStructure(body: Uint8Array, structure: JsonStructure): string | undefined {
  return readStructure(body, structure).excess;
}

/** Brackets, commas and colons of a body outside of strings, up to the first excess. */
interface ReadStructure {
  excess: string | undefined;
  brackets: number;
  commas: number;
  colons: number;
}

function readStructure(body: Uint8Array, { levels }: JsonStructure): ReadStructure {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const { length } = bytes;
  const outer: number[] = []; // members so far of the arrays and objects around the current one
  let members = 0;
  let most = Infinity;
  let at = 0;
  let [brackets, commas, colons] = [0, 0, 0];
  const found = (excess?: string) => ({ excess, brackets, commas, colons });
  while (at < length) {
    const byte = bytes[at] ?? 0;
    at += 1;
    if (byte === quote) {
      // Most strings are short, and a call would cost as much as they.
      const near = Math.min(length, at + shortBytes);
      while (at < near && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
      if (at >= near) at = endOfString(bytes, at);
      at += 1;
    } else if (byte === comma) {
      commas += 1;
      members += 1;
      if (members > most) {
        return found(`must have at most ${most} ${levels[outer.length - 1]?.[1]}`);
      }
    } else if (byte === colon) {
      colons += 1;
    } else if (byte >= openBracket) {
      const bracket = byte | 0x20; // a brace of the same kind
      if (bracket === openBrace) {
        const inner = levels[outer.length];
        if (inner === undefined) {
          return found(`must not be nested more than ${outer.length} deep`);
        }
        brackets += 1;
        outer.push(members);
        most = inner[0];
        members = 1;
      } else if (bracket === closeBrace) {
        members = outer.pop() ?? 0;
        most = levels[outer.length - 1]?.[0] ?? Infinity;
      }
    }
  }
  return found();
}

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
