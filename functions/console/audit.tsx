import type { Audit as AuditPage } from "../api/actions/audit-log.ts";
import { addressOf } from "./address.ts";
import { usePaged } from "./paged.ts";
import { Shown, useDesk, useLive } from "./desk.tsx";
import { Export } from "./export.tsx";
import { countText, Table, Time } from "./shared.tsx";

/** The audit log, newest entries first. */
export function Audit() {
  const { ask, attempt } = useDesk();
  const live = useLive<AuditPage>("/audit?limit=50");
  const pageOf = ({ entries, cursor: next }: AuditPage) => ({ items: entries, cursor: next });
  const { items, cursor, add } = usePaged(live.data && pageOf(live.data), entryKey);
  const more = () =>
    attempt(async () => {
      add(pageOf(await ask<AuditPage>(`/audit?limit=50&cursor=${cursor}`)));
      return undefined;
    });
  return (
    <section class="card">
      <Shown live={live} what="The audit log">
        {() =>
          items.length === 0 ? (
            <p>No operator has done anything yet.</p>
          ) : (
            <Table
              label="Audit log"
              columns={["Time", "Operator", "Action", "Target", "Count", "Reason", "Exposes"]}
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
      <Export of="audit" />
    </section>
  );
}

type Entry = AuditPage["entries"][number];

function entryKey({ at, action, target, numbers }: Entry): string {
  return `${at} ${action} ${target} ${numbers[0] ?? ""}`;
}

function Row({ entry: { at, by, action, target, count, reason, exposes } }: { entry: Entry }) {
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
      <td>{count === null ? "" : countText(count)}</td>
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
