import Papa from "papaparse";
import { formulaStart } from "../lib/csv.ts";
import type { RefusedRow } from "./read-leads.ts";
import { refusedColumns } from "./lead-table.ts";

/**
 * Returns the refused rows as CSV, with their line and the reason before the columns of the file: to be fixed and read
 * again. Duplicates are left out, because in a list of their own they would call the same people once more. A cell that a
 * spreadsheet would take for a formula gets an apostrophe before it, which the reader takes off again.
 */
export function toRefusedCsv(columns: readonly string[], refused: readonly RefusedRow[]): string {
  // A row that is refused a second time gets a new line and reason in place of the old ones.
  const own = (cells: readonly string[]) =>
    cells.filter((_, index) => !refusedColumns.includes(columns[index] ?? ""));
  const rows = refused
    .filter(({ isDuplicate }) => !isDuplicate)
    .map(({ line, reason, cells }) => [line, reason, ...own(cells)]);
  const csv = Papa.unparse([[...refusedColumns, ...own(columns)], ...rows], {
    newline: "\n",
    escapeFormulae: formulaStart,
  });
  return `${csv}\n`;
}
