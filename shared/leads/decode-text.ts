/** A text, and the encoding that its bytes turned out to have. */
export interface DecodedText {
  text: string;
  encoding: "UTF-8" | "UTF-16" | "Windows-1252";
}

/** Bytes that are looked at to recognise UTF-16 without a byte order mark. */
const sampleBytes = 4_000;
/** Share of zero bytes at every other position from which on a text counts as UTF-16. */
const zeroShare = 0.3;

/**
 * Decodes the bytes of a file of text: UTF-8 or UTF-16 with or without a byte order mark, or else Windows-1252, which
 * has all characters of Latin-1.
 *
 * @throws an Error for people if the file is no text
 */
export function decodeText(bytes: Uint8Array): DecodedText {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b && (bytes[2] ?? 9) <= 8) {
    throw new Error("The file is a workbook or an archive: save it as CSV first.");
  }
  const utf16 = utf16Of(bytes);
  if (utf16 !== undefined) {
    return { text: checked(new TextDecoder(utf16).decode(bytes)), encoding: "UTF-16" };
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
    return { text: checked(text), encoding: "UTF-8" };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const text = new TextDecoder("windows-1252").decode(bytes);
    return { text: checked(text), encoding: "Windows-1252" };
  }
}

function utf16Of(bytes: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const sample = bytes.subarray(0, sampleBytes);
  const zeros = [0, 0];
  for (const [index, byte] of sample.entries()) {
    if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  }
  const [even = 0, odd = 0] = zeros;
  const least = (sample.length / 2) * zeroShare;
  if (Math.max(even, odd) <= least) return undefined;
  return odd > even ? "utf-16le" : "utf-16be";
}

function checked(text: string): string {
  if (text.includes("\0")) throw new Error("The file is no text: save it as CSV first.");
  return text;
}
