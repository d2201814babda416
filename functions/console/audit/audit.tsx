import { useState } from "preact/hooks";
import type { Audit as AuditPage } from "#shared/answers/answers.ts";
import { addressOf } from "../data/address.ts";
import { usePaged } from "../data/paged.ts";
import { Shown, useDesk, useLive } from "../parts/desk.tsx";
import { Export } from "../parts/export.tsx";
import { countText, Table, Time } from "../parts/shared.tsx";

/** The audit logs, operators' or clients', newest entries first. */
export function Audit() {
  const [isOfClients, setIsOfClients] = useState(false);
  return (
    <section class="card">
      <label class="choice">
        <input
          type="checkbox"
          checked={isOfClients}
          onChange={(event) => setIsOfClients(event.currentTarget.checked)}
        />
        What clients did, not operators
      </label>
      <Entries key={String(isOfClients)} of={isOfClients ? "clients" : "operators"} />
      <Export of="audit" />
    </section>
  );
}

function Entries({ of }: { of: "clients" | "operators" }) {
  const { ask, attempt } = useDesk();
  const path = `/audit?of=${of}&limit=50`;
  const live = useLive<AuditPage>(path);
  const pageOf = ({ entries, cursor: next }: AuditPage) => ({ items: entries, cursor: next });
  const { items, cursor, add } = usePaged(live.data && pageOf(live.data), entryKey);
  const more = () =>
    attempt(async () => {
      add(pageOf(await ask<AuditPage>(`${path}&cursor=${cursor}`)));
      return undefined;
    });
  return (
    <>
      <Shown live={live} what="The audit log">
        {() =>
          items.length === 0 ? (
            <p>{of === "clients" ? "No client" : "No operator"} has done anything yet.</p>
          ) : (
            <Table
              label="Audit log"
              columns={["Time", "Token", "Action", "Target", "Count", "Times", "Reason", "Exposes"]}
            >
              {items.map((entry) => (
                <Row key={entryKey(entry)} entry={entry} />
              ))}
            </Table>
          )
        }
      </Shown>
      {cursor === undefined ? null : (
        <button type="button" onClick={more}>
          Older entries
        </button>
      )}
    </>
  );
}

type Entry = AuditPage["entries"][number];

function entryKey({ at, action, target, numbers }: Entry): string {
  return `${at} ${action} ${target} ${numbers[0] ?? ""}`;
}

function Row({
  entry: { at, by, action, target, count, times, reason, exposes },
}: {
  entry: Entry;
}) {
  return (
    <tr>
      <th scope="row">
        <Time at={at} />
      </th>
      <td>{by}</td>
      <td>{action.replaceAll("_", " ")}</td>
      <td>
        {target.startsWith("call_") ? (
          <a href={addressOf("calls", { call: target })}>{target}</a>
        ) : (
          target
        )}
      </td>
      <td class="figure">{count === null ? "" : countText(count)}</td>
      <td class="figure">{times === 1 ? "" : countText(times)}</td>
      <td>{reason?.replaceAll("_", " ")}</td>
      <td>{exposedText(exposes)}</td>
    </tr>
  );
}

function exposedText(exposes: Entry["exposes"]): string {
  if (exposes === null) return "";
  const { url, ...lists } = exposes;
  const texts = Object.entries(lists).flatMap(([name, some]) =>
    Array.isArray(some) && some.length > 0 ? [`${name} ${some.join(", ")}`] : [],
  );
  return [...(url === undefined ? [] : [url]), ...texts].join("; ");
}
