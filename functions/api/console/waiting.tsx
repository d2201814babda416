import type { Backlogs, BacklogView } from "../operator/backlogs.ts";
import { Time, timeText } from "./shared.tsx";

const minuteMs = 60_000;
/** Names of the reasons that hold a backlog. Circuit breakers are named by their keys. */
const holds: Record<string, string> = {
  agent_paused: "agent paused",
  account_paused: "account paused",
  route_gone: "no route in the plan",
};

/** The backlogs, the time for which their first calls have been due, and the reasons that hold them. */
export function Waiting({
  backlogs,
  show,
}: {
  backlogs: Backlogs | undefined;
  /** Lists the waiting calls of an agent. */
  show(agentId: string): void;
}) {
  if (backlogs === undefined) return null;
  return (
    <section class="card" aria-labelledby="waiting">
      <h2 id="waiting">Waiting</h2>
      {backlogs.backlogs.length === 0 ? <p>No call waits.</p> : null}
      {backlogs.backlogs.length === 0 ? null : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Backlogs">
          <table>
            <thead>
              <tr>
                <th scope="col">Agent</th>
                <th scope="col">Client</th>
                <th scope="col">Account</th>
                <th scope="col">Calls</th>
                <th scope="col">Oldest due</th>
                <th scope="col">Held by</th>
                <th scope="col">Called up to</th>
              </tr>
            </thead>
            <tbody>
              {backlogs.backlogs.map((backlog) => (
                <Row
                  key={JSON.stringify([backlog.client, backlog.agent_id])}
                  backlog={backlog}
                  most={backlogs.waiting_most}
                  show={show}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {backlogs.cursor === undefined ? null : (
        <p class="hint">There are more: npm run calls -- backlogs --limit 1000 lists them.</p>
      )}
    </section>
  );
}

function Row({
  backlog,
  most,
  show,
}: {
  backlog: BacklogView;
  most: number;
  show(agentId: string): void;
}) {
  const { client, agent_id, account, head, waiting, called_up_to, held_by } = backlog;
  return (
    <tr>
      <th scope="row">
        <button type="button" class="quiet" onClick={() => show(agent_id)}>
          {agent_id}
        </button>
      </th>
      <td>{client}</td>
      <td>{account ?? "none"}</td>
      <td>{waiting === most ? `${waiting}+` : waiting}</td>
      <td>
        <time dateTime={head.due_at} title={timeText(head.due_at)}>
          {ageText(head.due_at)}
        </time>
      </td>
      <td>{held_by.map((one) => holds[one] ?? `breaker ${one}`).join(", ")}</td>
      <td>
        <Time at={called_up_to} />
      </td>
    </tr>
  );
}

/** Describes the distance of a time from now: `3 hours ago`, `in 10 hours`. */
function ageText(time: string): string {
  const words = new Intl.RelativeTimeFormat(undefined);
  const minutes = (Date.parse(time) - Date.now()) / minuteMs;
  const size = Math.abs(minutes);
  if (size < 1) return words.format(Math.round(minutes * 60), "second");
  if (size < 60) return words.format(Math.round(minutes), "minute");
  if (size < 48 * 60) return words.format(Math.round(minutes / 60), "hour");
  return words.format(Math.round(minutes / 1440), "day");
}
