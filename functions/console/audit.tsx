import { useState } from "preact/hooks";
import type { Audit as AuditPage } from "../api/actions/audit-log.ts";
import { addressOf } from "./address.ts";
import { Shown, useDesk, useLive } from "./desk.tsx";
import { countText, Table, Time } from "./shared.tsx";

/** The audit log, newest entries first. */
export function Audit() {
  const { ask, attempt } = useDesk();
  const live = useLive<AuditPage>("/audit?limit=50");
  const [older, setOlder] = useState<AuditPage>();
  const cursor = older === undefined ? live.data?.cursor : older.cursor;
  const more = () =>
    attempt(async () => {
      const page = await ask<AuditPage>(`/audit?limit=50&cursor=${cursor}`);
      setOlder({ ...page, entries: [...(older?.entries ?? []), ...page.entries] });
      return undefined;
    });
  return (
    <section class="card">
      <Shown live={live} what="The audit log">
        {({ entries }) =>
          entries.length === 0 ? (
            <p>No operator has done anything yet.</p>
          ) : (
            <Table
              label="Audit log"
              columns={["Time", "Operator", "Action", "Target", "Count", "Reason"]}
            >
              {[...entries, ...(older?.entries ?? [])].map(
                ({ at, by, action, target, count, reason }) => (
                  <tr key={`${at} ${action} ${target}`}>
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
                  </tr>
                ),
              )}
            </Table>
          )
        }
      </Shown>
      {cursor === undefined ? null : (
        <button type="button" onClick={more}>
          Older entries
        </button>
      )}
    </section>
  );
}
