import type { LeadTable } from "./read-table.ts";

/** Meanings of a column. */
export const columnRoles = ["number", "agent", "timezone", "context", "ignored"] as const;
export type ColumnRole = (typeof columnRoles)[number];

/** Names of columns in lower case without spaces and punctuation, the surest first. */
const names: Record<"number" | "agent" | "timezone" | "ignored", readonly string[]> = {
  number: [
    "phonenumber",
    "phone",
    "mobile",
    "mobilephone",
    "cell",
    "cellphone",
    "tel",
    "telephone",
    "msisdn",
    "number",
    "telefon",
    "telefono",
    "telefonnummer",
    "rufnummer",
    "handy",
    "movil",
  ],
  agent: ["agentid", "agent"],
  timezone: ["timezone", "tz"],
  ignored: ["line", "refusedbecause"],
};

/**
 * Guesses the meanings of a table's columns: by their names, and the phone number else by the column of which most cells
 * have the digits of one. All others become context, apart from those without a name.
 */
export function guessColumns({ columns, rows }: LeadTable): ColumnRole[] {
  const plain = columns.map((name) =>
    name
      .normalize("NFD")
      .toLowerCase()
      .replace(/[^a-z0-9]/g, ""),
  );
  const find = (role: keyof typeof names) =>
    names[role].map((name) => plain.indexOf(name)).find((index) => index >= 0);
  const number = find("number") ?? guessNumber(columns.length, rows.slice(0, 50));
  const [agent, timezone] = [find("agent"), find("timezone")];
  return columns.map((name, index) => {
    if (index === number) return "number";
    if (index === agent) return "agent";
    if (index === timezone) return "timezone";
    const isIgnored = names.ignored.includes(plain[index] ?? "") || /^column \d+$/.test(name);
    return isIgnored ? "ignored" : "context";
  });
}

function guessNumber(columns: number, rows: LeadTable["rows"]): number | undefined {
  const isNumber = (cell: string) =>
    /^[\s+()./\d-]+$/.test(cell) && /^\d{7,15}$/.test(cell.replace(/\D/g, ""));
  const counts = Array.from(
    { length: columns },
    (_, index) => rows.filter(({ cells }) => isNumber(cells[index] ?? "")).length,
  );
  const most = Math.max(...counts);
  return most === 0 ? undefined : counts.indexOf(most);
}
