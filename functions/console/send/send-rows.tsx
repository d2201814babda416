import { useEffect, useState } from "preact/hooks";
import type { Lead, RefusedRow } from "#shared/leads/read-leads.ts";
import type { LeadTable } from "#shared/leads/lead-table.ts";
import type { Reader } from "../parts/load-reader.ts";
import { counted, countText, Table } from "../parts/shared.tsx";

/** Rows that are shown; the file to fix has all of them but duplicates. */
const refusedShown = 50;
const leadsShown = 10;

/** The rows of which no call is made, each with its line and the reason, and the CSV to fix them. */
export function RefusedRows({
  reader,
  table,
  refused,
  of,
}: {
  reader: Reader;
  table: LeadTable;
  refused: readonly RefusedRow[];
  /** Words for who refuses them. */
  of: string;
}) {
  if (refused.length === 0) return null;
  const duplicates = refused.filter(({ isDuplicate }) => isDuplicate).length;
  const label = `Rows that are not sent, by ${of}`;
  return (
    <section class="card">
      <h3>
        {countText(refused.length)} {refused.length === 1 ? "row is" : "rows are"} not sent
        {duplicates === 0 ? "" : `, ${countText(duplicates)} of them duplicates`}
      </h3>
      <Table label={label} columns={[table.unit === "line" ? "Line" : "Item", "Why", "The row"]}>
        {refused.slice(0, refusedShown).map(({ line, reason, cells }) => (
          <tr key={line}>
            <th scope="row">{line}</th>
            <td>{reason}</td>
            <td>{cells.join(" · ").slice(0, 80)}</td>
          </tr>
        ))}
      </Table>
      {refused.length > refusedShown ? (
        <p class="hint">
          The first {refusedShown} of {countText(refused.length)}.
        </p>
      ) : null}
      {refused.length === duplicates ? null : (
        <p>
          <Download text={reader.toRefusedCsv(table.columns, refused)} name="leads-to-fix.csv">
            {`Download these rows as CSV, ${duplicates === 0 ? "" : "without duplicates, "}to fix and send them`}
          </Download>
        </p>
      )}
    </section>
  );
}

/** A link to a text as a file. */
function Download({ text, name, children }: { text: string; name: string; children: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    // Spreadsheets recognize UTF-8 by this mark.
    const made = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  if (address === undefined) return null;
  return (
    <a href={address} download={name}>
      {children}
    </a>
  );
}

/** The first leads, as the file has them and as they are called. */
export function Preview({ unit, leads }: { unit: LeadTable["unit"]; leads: readonly Lead[] }) {
  if (leads.length === 0) return null;
  const columns = [unit === "line" ? "Line" : "Item", "As written", "Called", "Agent", "Context"];
  return (
    <section class="card" aria-labelledby="leads">
      <h3 id="leads">{counted(leads.length, "lead")}</h3>
      <Table label="The first leads" columns={columns}>
        {leads.slice(0, leadsShown).map(({ line, original, call }) => (
          <tr key={line}>
            <th scope="row">{line}</th>
            <td>{original}</td>
            <td>{call.phone_number}</td>
            <td>{call.agent_id}</td>
            <td>
              {[call.timezone ?? [], ...Object.values(call.context ?? {})]
                .flat()
                .join(" · ")
                .slice(0, 80)}
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
