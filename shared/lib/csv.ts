/** Formats a value as a field of CSV (RFC 4180). One that a spreadsheet would take for a formula gets an apostrophe before it. */
export function csvField(value: unknown): string {
  const text = plainText(value).replace(/^(?=[=+\-@\t\r])/, "'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function plainText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
