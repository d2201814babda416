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

/**
 * Judges the structure of a large JSON body before it is parsed: 4 MiB of brackets would take 200 MB as values. Reads
 * brackets and commas alone, and skips strings. Malformed JSON is left to the parser.
 *
 * @returns the detail of the problem, or undefined
 */
export function findExcess(body: Uint8Array, structure: JsonStructure): string | undefined {
  if (body.byteLength < judgedBytesMin) return undefined;
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
