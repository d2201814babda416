/** A row of a file of leads. */
export interface Row {
  /** Line of the file at which it begins, from 1; in JSON its position in the array. */
  line: number;
  cells: readonly string[];
  /** Reason for which the row cannot be read. */
  problem?: string;
}

/** A file of leads as rows and columns. */
export interface LeadTable {
  /** Names, of which no two are the same. */
  columns: readonly string[];
  rows: readonly Row[];
  /** Form of the file, such as `CSV, UTF-8, separated by ;`. */
  form: string;
  /** Noun for the position of a row. */
  unit: "line" | "item";
}

/** Columns that a file of refused rows has before those of the first file. They mean nothing when it is read. */
export const refusedColumns = ["line", "refused because"];
