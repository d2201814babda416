const blanks = String.raw`[\s\u0000\u200b-\u200f\u2060]{0,100}`;
const formulaSigns = String.raw`[=+\-@\uff1d\uff0b\uff0d\uff20\t\r]`;
const cellStart = new RegExp(`(^|[;\\t\\r\\n])(?=${blanks}${formulaSigns})`, "g");

/**
 * Matches a text that a spreadsheet takes for a formula: one that begins with a sign of formulas, perhaps in full width, perhaps
 * behind blanks, which some spreadsheets leave out.
 */
export const formulaStart = new RegExp(`^${blanks}${formulaSigns}`);

/**
 * Formats a value as a field of CSV (RFC 4180). What a spreadsheet would take for a formula gets an apostrophe before it,
 * also after a semicolon or tab, at which spreadsheets of some languages part fields, in whatever quotes.
 */
export function csvField(value: unknown): string {
  const text = plainText(value).replace(cellStart, "$1'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function plainText(value: unknown): string {
  if (value === undefined || value === null) return "";
  // A list is its items: `[]` means nothing to who reads a table.
  if (Array.isArray(value) && value.every((item) => typeof item === "string"))
    return value.join(" ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
