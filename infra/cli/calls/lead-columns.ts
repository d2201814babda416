import { columnRoles, guessColumns } from "#shared/leads/columns.ts";
import type { LeadTable } from "#shared/leads/lead-table.ts";
import { toShellWord } from "#shared/lib/shell-word.ts";
import { Misuse } from "./failures.ts";

/**
 * Guesses the meanings of the columns, and changes those that --map names, as in `--map number=Mobile`.
 *
 * @throws a Misuse if --map is wrong, or is needed to find which column has the phone numbers: --yes does not decide that
 */
export function rolesOf(table: LeadTable, mapped: readonly string[], agents: readonly string[]) {
  const { roles, doubt, notes } = guessColumns(table, agents);
  const given = mapped.map((one) => {
    const [, name = "", column = ""] = /^(\w+)=(.*)$/s.exec(one) ?? [];
    const role = columnRoles.find((known) => known === name);
    const index = table.columns.indexOf(column);
    if (role === undefined || index < 0) {
      throw new Misuse(
        `--map is ROLE=COLUMN: a role of ${columnRoles.join(", ")}, and a column of ${table.columns.join(", ")}.`,
      );
    }
    return { role, index };
  });
  if (doubt !== undefined && !given.some(({ role }) => role === "number")) {
    const choices = doubt.candidates.map((name) => `--map ${toShellWord(`number=${name}`)}`);
    throw new Misuse(`${doubt.why} Nothing was sent. Choose with ${choices.join(" or ")}.`);
  }
  for (const { role, index } of given) {
    const isSingle = role !== "context" && role !== "ignored";
    const before = isSingle ? roles.indexOf(role) : -1;
    if (before >= 0) roles[before] = "context";
    roles[index] = role;
  }
  return { roles, notes: given.some(({ role }) => role === "agent") ? [] : notes };
}
