import Papa from "papaparse";
import type { RefusedRow } from "./read-leads.ts";

/**
 * Returns the refused rows as CSV, with their line and the reason before the columns of the file: to be mended and read
 * again. A cell that a spreadsheet would take for a formula gets an apostrophe before it, which the reader takes off a number.
 */
export function toMendCsv(columns: readonly string[], refused: readonly RefusedRow[]): string {
  const rows = refused.map(({ line, reason, cells }) => [line, reason, ...cells]);
  return Papa.unparse([["line", "refused because", ...columns], ...rows], {
    newline: "\n",
    escapeFormulae: true,
  });
}
