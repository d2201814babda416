/** Maximum members of an array or object at each depth, the outermost first, with their name. None may lie deeper. */
export type JsonStructure = readonly (readonly [most: number, of: string])[];

/** Bodies from this size on are judged before they are parsed. A smaller one takes at most some MB of memory. */
const judgedBytesMin = 256 * 1024;

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Bytes of a body for each opening bracket, and for each comma, from which on its values take little more than itself. */
const bytesPerBracket = 40;
const bytesPerComma = 20;
/** A look in each window, of which a sixteenth is read, at a place that nobody can foresee. */
const windowBytes = 1024;
const lookBytes = 64;
const looksPerWindow = windowBytes / lookBytes;

/** Weights by which the sum of a look counts opening brackets in its high bits and commas in its low ones. */
const bracketWeight = 2 * lookBytes;
const weights = new Uint8Array(256);
weights[comma] = 1;
weights[openBracket] = bracketWeight;
weights[openBrace] = bracketWeight;

/**
 * Judges a large JSON body before it is parsed: 4 MiB of brackets would take 200 MB as values. A body of few brackets and commas
 * takes no more than a usual one, and is left to the schema.
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
 * True if a body has many brackets and commas, also in strings, as a sixteenth of it says: of bodies of 4 MiB with twice what is let pass, not
 * one in a million passes, wherever the brackets stand.
 */
export function isDense(body: Uint8Array, random: () => number): boolean {
  const windows = Math.floor(body.byteLength / windowBytes);
  let [brackets, commas] = [0, 0];
  for (let window = 0; window < windows; window++) {
    const start = window * windowBytes + Math.floor(random() * looksPerWindow) * lookBytes;
    let sum = 0;
    for (let at = start; at < start + lookBytes; at++) sum += weights[body[at] ?? 0] ?? 0;
    brackets += Math.floor(sum / bracketWeight);
    commas += sum % bracketWeight;
  }
  const read = windows * lookBytes;
  return brackets * bytesPerBracket > read || commas * bytesPerComma > read;
}

/**
 * Judges the structure of a JSON body. Reads brackets and commas alone, and skips strings. Malformed JSON is left to the
 * parser.
 *
 * @returns the detail of the problem, or undefined
 */
export function judgeStructure(body: Uint8Array, structure: JsonStructure): string | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const members = structure.map(() => 0);
  let depth = 0;
  for (let at = 0; at < bytes.byteLength; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) {
      at = endOfString(bytes, at);
      continue;
    }
    if (byte === openBracket || byte === openBrace) {
      if (depth === structure.length) return `must not be nested more than ${depth} deep`;
      members[depth] = 1;
      depth += 1;
    } else if (byte === closeBracket || byte === closeBrace) {
      depth = Math.max(0, depth - 1);
    } else if (byte === comma && depth > 0) {
      const count = (members[depth - 1] ?? 0) + 1;
      members[depth - 1] = count;
      const [most, of] = structure[depth - 1] ?? [0, ""];
      if (count > most) return `must have at most ${most} ${of}`;
    }
  }
  return undefined;
}

/** Bytes that are looked at one by one before the rest of a string is searched, which costs a call. */
const shortBytes = 48;

/** Returns the index of the closing quote of a string, or the length of the bytes. */
function endOfString(bytes: Buffer, start: number): number {
  const near = Math.min(bytes.byteLength, start + shortBytes);
  let at = start + 1;
  while (at < near) {
    const byte = bytes[at];
    // Letters and digits, which most are, take one comparison.
    if (byte === quote) return at;
    at += byte === backslash ? 2 : 1;
  }
  const next = bytes.indexOf(quote, at);
  if (next < 0) return bytes.byteLength;
  if (bytes[next - 1] !== backslash) return next;
  while (at < bytes.byteLength) {
    const byte = bytes[at];
    if (byte === quote) return at;
    at += byte === backslash ? 2 : 1;
  }
  return bytes.byteLength;
}
