import type { Lead, LeadsRead } from "#shared/leads/read-leads.ts";

/** Returns leads as they are read from a file without refused rows. */
export function readWhole(leads: Lead[]): LeadsRead {
  return { leads, refused: [], numbers: leads.map(({ call }) => call.phone_number) };
}

/** Digits of a number as people write them, in five ways. */
const formats: ((code: string, exchange: string, line: string) => string)[] = [
  (code, exchange, line) => `(${code}) ${exchange}-${line}`,
  (code, exchange, line) => `+1 ${code} ${exchange} ${line}`,
  (code, exchange, line) => `${code}-${exchange}-${line}`,
  (code, exchange, line) => `1.${code}.${exchange}.${line}`,
  (code, exchange, line) => `1${code}${exchange}${line}`,
];
const bad = ["", "303-555-01", "call me", "3.03555E+09", "(303) 555-0100 x12", "+999 555 0100"];

/** A CSV of leads in five formats of numbers, three of a hundred bad. */
export interface LeadFile {
  csv: string;
  /** The good numbers, in E.164. */
  numbers: string[];
  /** Lines of the bad rows. */
  badLines: number[];
}

/** @param count rows, at most 10,000 */
export function makeLeadFile(count: number): LeadFile {
  const numbers: string[] = [];
  const badLines: number[] = [];
  const rows = Array.from({ length: count }, (_, index) => {
    const name = `"Lead, ${index}"`;
    if (index % 100 < 3) {
      badLines.push(index + 2);
      return `${name};${bad[(index + Math.floor(index / 100)) % bad.length]};vip`;
    }
    const line = String(index).padStart(4, "0");
    numbers.push(`+1303555${line}`);
    return `${name};${formats[index % formats.length]?.("303", "555", line)};new`;
  });
  return { csv: ["Name;Mobile;Segment", ...rows, ""].join("\r\n"), numbers, badLines };
}
