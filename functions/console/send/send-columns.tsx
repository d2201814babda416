import type { ColumnRole, GuessedColumns } from "#shared/leads/columns.ts";
import type { LeadTable } from "#shared/leads/lead-table.ts";
import { Table } from "../parts/shared.tsx";

const roleNames: Record<ColumnRole, string> = {
  number: "Phone number",
  agent: "Agent",
  timezone: "Time zone",
  context: "Context for the agent",
  ignored: "Left out",
};
const isRole = (name: string): name is ColumnRole => Object.hasOwn(roleNames, name);
const roleEntries = Object.entries(roleNames);
/** Values of a column that are shown. */
const examplesMax = 2;
/** Rows among which examples are looked for. */
const exampleRows = 50;

/** The columns of a file of leads, what each one means, and its first values. A doubt is shown until a person has chosen. */
export function Columns({
  table: { columns, rows },
  guessed: { roles, doubt, notes },
  choose,
}: {
  table: LeadTable;
  guessed: GuessedColumns;
  choose(roles: ColumnRole[]): void;
}) {
  const change = (index: number, role: ColumnRole) =>
    choose(
      roles.map((before, at) => {
        if (at === index) return role;
        // One column has the number: the former one becomes context.
        const isSingle = role !== "context" && role !== "ignored";
        return isSingle && before === role ? "context" : before;
      }),
    );
  return (
    <>
      {doubt === undefined || roles.includes("number") ? null : (
        <p class="problem" role="alert">
          {doubt.why} Choose the one to call: {doubt.candidates.join(" or ")}.
        </p>
      )}
      {notes.map((note) => (
        <p class="hint" key={note}>
          {note}
        </p>
      ))}
      <Table label="Columns of the file" columns={["Column", "Is", "For example"]}>
        {columns.map((name, index) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <select
                aria-label={`Meaning of ${name}`}
                value={roles[index]}
                onChange={({ currentTarget: { value } }) => isRole(value) && change(index, value)}
              >
                {roleEntries.map(([role, texts]) => (
                  <option key={role} value={role}>
                    {texts}
                  </option>
                ))}
              </select>
            </td>
            <td>
              {rows
                .slice(0, exampleRows)
                .map(({ cells }) => (cells[index] ?? "").slice(0, 40))
                .filter((text) => text !== "")
                .slice(0, examplesMax)
                .join(" · ")}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}
