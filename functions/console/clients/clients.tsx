import type {
  Clients as ClientList,
  MadeTokenAnswer,
  Tokens,
  UsageAnswer,
} from "#shared/answers/answers.ts";
import { useState } from "preact/hooks";
import { Confirm } from "../parts/confirm.tsx";
import { Shown, useDesk, useLive, WithRole } from "../parts/desk.tsx";
import { lengthText } from "../parts/result-words.ts";
import { countText, Table, textIn, Time } from "../parts/shared.tsx";

const refreshMs = 60_000;

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
        <label>
          By
          <select
            value={group}
            onChange={({ currentTarget: { value } }) =>
              setGroup(groupNames.find((name) => name === value) ?? "client")
            }
          >
            {Object.entries(groups).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
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
            {row.cost.map(({ amount, currency }) => `${amount} ${currency}`).join(", ")}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function ClientTable() {
  const live = useLive<ClientList>("/clients?limit=200", refreshMs);
  return (
    <section class="card" aria-labelledby="clients">
      <h3 id="clients">Clients that operators made</h3>
      <Shown live={live} what="The clients">
        {({ clients }) =>
          clients.length === 0 ? (
            <p>
              There is none. <code>npm run calls -- clients put NAME</code> makes one.
            </p>
          ) : (
            <Table
              label="Clients"
              columns={["Client", "Agents", "Calls a day", "Waiting", "Changed"]}
            >
              {clients.map(({ name, agents, quota, changed_at, changed_by }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class="words">{agents.join(", ")}</td>
                  <td class="figure">{quota?.calls_per_day ?? "no limit"}</td>
                  <td class="figure">{quota?.waiting ?? "no limit"}</td>
                  <td>
                    <Time at={changed_at} /> by {changed_by}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </section>
  );
}

function TokenTable() {
  const { ask, attempt } = useDesk();
  const live = useLive<Tokens>("/tokens?limit=200", refreshMs);
  const [ending, setEnding] = useState<string>();
  const [made, setMade] = useState<MadeTokenAnswer>();
  const make = (client: string) =>
    attempt(async () => {
      setMade(await ask<MadeTokenAnswer>(`/clients/${encodeURIComponent(client)}/tokens`, {}));
      return "Made, and recorded. The token is shown once.";
    });
  return (
    <section class="card" aria-labelledby="tokens">
      <h3 id="tokens">Their tokens</h3>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          make(textIn(new FormData(event.currentTarget), "client"));
        }}
      >
        <label>
          Client of the token
          <input name="client" required autocomplete="off" />
        </label>
        <button type="submit">Make a token</button>
      </form>
      {made === undefined ? null : (
        <p>
          Token {made.id}, shown only now: <code>{made.token}</code>
        </p>
      )}
      <Shown live={live} what="The tokens">
        {({ tokens }) => <TokenRows tokens={tokens} end={setEnding} />}
      </Shown>
      {ending === undefined ? null : <EndToken id={ending} close={() => setEnding(undefined)} />}
    </section>
  );
}

function TokenRows({ tokens, end }: { tokens: Tokens["tokens"]; end(id: string): void }) {
  if (tokens.length === 0) return <p>There is none.</p>;
  return (
    <Table label="Tokens" columns={["Token", "Client", "State", "Rights", "Last used", "End"]}>
      {tokens.map(({ id, client, state, rights, last_used_at }) => (
        <tr key={id}>
          <th scope="row">{id}</th>
          <td>{client}</td>
          <td>{state.replaceAll("_", " ")}</td>
          <td class="words">{rights.join(", ")}</td>
          <td>{last_used_at === null ? "not known" : <Time at={last_used_at} />}</td>
          <td>
            {state === "valid" ? (
              <button type="button" class="grave" onClick={() => end(id)}>
                End … <span class="unseen">token {id}</span>
              </button>
            ) : null}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Asks before a token ends. */
function EndToken({ id, close }: { id: string; close(): void }) {
  const { ask, attempt } = useDesk();
  const act = () =>
    attempt(async () => {
      await ask(`/tokens/${encodeURIComponent(id)}/end`, {});
      return `Token ${id} lets nobody in after a minute.`;
    });
  return (
    <Confirm title={`End token ${id}?`} yes="End it for good" act={act} close={close}>
      <p>Whoever has it can place no call and read nothing any more.</p>
    </Confirm>
  );
}
