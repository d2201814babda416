/**
 * Formats a value as a field of CSV (RFC 4180). What a spreadsheet would take for a formula gets an apostrophe before it,
 * also after a semicolon or tab, at which spreadsheets of some languages part fields, in whatever quotes.
 */
export function csvField(value: unknown): string {
  const text = plainText(value).replace(/(^|[;\t\r\n])(?=[=+\-@\t\r])/g, "$1'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function plainText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
