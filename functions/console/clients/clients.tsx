import type { Clients as ClientList, PutClient, UsageAnswer } from "#shared/answers/answers.ts";
import { useState } from "preact/hooks";
import { Confirm } from "../parts/confirm.tsx";
import { Shown, useDesk, useLive, WithRole } from "../parts/desk.tsx";
import { Pick, PickAgent } from "../parts/pick.tsx";
import { lengthText } from "../parts/result-texts.ts";
import { countText, MoreByCommand, Table, textIn, Time } from "../parts/shared.tsx";
import { ReceiverForm, Receivers } from "./receivers.tsx";
import { TokenTable } from "./tokens.tsx";

const refreshMs = 60_000;

const limitText = (limit?: number) => (limit === undefined ? "no limit" : countText(limit));

/** Usage and cost of clients, and the clients and tokens that operators make. */
export function Clients() {
  return (
    <>
      <Usage />
      <WithRole role="configure">
        <ClientTable />
        <TokenTable />
      </WithRole>
    </>
  );
}

const groups = { client: "Client", agent: "Agent", campaign: "Campaign", day: "Day" } as const;
type Group = keyof typeof groups;
const groupNames = ["client", "agent", "campaign", "day"] as const satisfies readonly Group[];

function Usage() {
  const [group, setGroup] = useState<Group>("client");
  const live = useLive<UsageAnswer>(`/usage?group_by=${group}`, refreshMs);
  return (
    <section class="card" aria-labelledby="usage">
      <div class="line spread">
        <h3 id="usage">Usage and cost</h3>
        <Pick
          label="Group by"
          options={Object.entries(groups).map(([value, name]) => ({ value, name }))}
          value={group}
          choose={(value) => setGroup(groupNames.find((name) => name === value) ?? "client")}
        />
      </div>
      <Shown live={live} what="The usage">
        {({ rows, from, to, rows_left_out: left }) =>
          rows.length === 0 ? (
            <p>
              No call was accepted from {from} to {to} (UTC). Send a list to begin.
            </p>
          ) : (
            <>
              <UsageTable rows={rows} group={group} />
              <p class="hint">
                From {from} to {to}, days in UTC.
                {left === 0 ? "" : ` ${countText(left)} rows are left out.`}
              </p>
            </>
          )
        }
      </Shown>
    </section>
  );
}

function UsageTable({ rows, group }: { rows: UsageAnswer["rows"]; group: Group }) {
  const columns = [groups[group], "Accepted", "Placed", "Answered", "Length", "Cost"];
  return (
    <Table label="Usage" columns={columns}>
      {rows.map((row) => (
        <tr key={JSON.stringify([row.client, row.agent_id, row.campaign, row.day, row.test])}>
          <th scope="row">
            {row.campaign ?? row.agent_id ?? row.day ?? row.client ?? "none"}
            {group === "campaign" ? <span class="hint"> {row.client}</span> : null}
            {row.test ? <b class="hint"> test</b> : null}
          </th>
          <td class="figure">{countText(row.accepted)}</td>
          <td class="figure">{countText(row.placed)}</td>
          <td class="figure">{countText(row.answered)}</td>
          <td class="figure">{lengthText(row.seconds)}</td>
          <td class="figure">
            {row.cost.map(({ amount, currency }) => `${amount} ${currency}`).join(", ") || "–"}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Form that makes a client, or changes one. */
function PutClientForm() {
  const { ask, attempt } = useDesk();
  const put = (form: FormData) =>
    attempt(async () => {
      const name = textIn(form, "name");
      const limitIn = (field: string) => Number(textIn(form, field)) || undefined;
      const [calls_per_day, waiting] = [limitIn("calls_per_day"), limitIn("waiting")];
      const quota =
        calls_per_day === undefined && waiting === undefined ? null : { calls_per_day, waiting };
      const agents = textIn(form, "agents").split(/[\s,]+/);
      const body = { agents, quota, ...(form.has("reuse") && { reuse: true }) };
      const answer = await ask<PutClient>(`PUT /clients/${name}`, body);
      return `${answer.is_new ? "Made" : "Changed"}: client ${name}.`;
    });
  return (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault();
        put(new FormData(event.currentTarget));
      }}
    >
      <label>
        Name of the client
        <input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]*" autocomplete="off" />
      </label>
      <PickAgent label="Agents (* is all)" name="agents" isRequired />
      <label>
        Calls a day (no limit, if empty)
        <input name="calls_per_day" type="number" min={1} />
      </label>
      <label>
        Calls waiting (no limit, if empty)
        <input name="waiting" type="number" min={1} />
      </label>
      <label class="choice">
        <input name="reuse" type="checkbox" /> reuse a removed client's name
      </label>
      <button type="submit">Make or change the client</button>
    </form>
  );
}

/** Asks before a client is removed. */
function RemoveClient({ name, close }: { name: string; close(): void }) {
  const { ask, attempt } = useDesk();
  const act = () =>
    attempt(async () => {
      await ask(`DELETE /clients/${name}`, {});
      return `Removed: client ${name}.`;
    });
  return (
    <Confirm title={`Remove client ${name}?`} yes="Remove it for good" act={act} close={close}>
      <p>
        Its tokens are revoked within a minute, its receivers deleted. Its waiting calls are still
        dialed.
      </p>
    </Confirm>
  );
}

function ClientTable() {
  const [removing, setRemoving] = useState<string>();
  const live = useLive<ClientList>("/clients?limit=200", refreshMs);
  return (
    <section class="card" aria-labelledby="clients">
      <h3 id="clients">Clients that operators made</h3>
      <PutClientForm />
      <Shown live={live} what="The clients">
        {({ clients, cursor }) =>
          clients.length === 0 && cursor === undefined ? (
            <p>No operator has made a client: make one, and then its token below.</p>
          ) : (
            <>
              <Table
                label="Clients"
                columns={["Client", "Remove", "Agents", "Calls a day", "Waiting", "Changed"]}
              >
                {clients.map(({ name, agents, quota, changed_at, changed_by }) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td>
                      <button type="button" class="grave" onClick={() => setRemoving(name)}>
                        Remove … <span class="unseen">{name}</span>
                      </button>
                    </td>
                    <td class="texts">{agents.join(", ")}</td>
                    <td class="figure">{limitText(quota?.calls_per_day)}</td>
                    <td class="figure">{limitText(quota?.waiting)}</td>
                    <td>
                      <Time at={changed_at} /> by {changed_by}
                    </td>
                  </tr>
                ))}
              </Table>
              <MoreByCommand cursor={cursor} command="clients list" />
              <ReceiverForm clients={clients} />
            </>
          )
        }
      </Shown>
      <Receivers clients={live.data?.clients ?? []} />
      {removing === undefined ? null : (
        <RemoveClient name={removing} close={() => setRemoving(undefined)} />
      )}
    </section>
  );
}
