import type { Clients as ClientList, MadeTokenAnswer, Tokens } from "#shared/answers/answers.ts";
import { useState } from "preact/hooks";
import { Confirm } from "../parts/confirm.tsx";
import { Shown, useDesk, useLive } from "../parts/desk.tsx";
import { Pick } from "../parts/pick.tsx";
import { Table, textIn, Time } from "../parts/shared.tsx";

const refreshMs = 60_000;

const rightNames = {
  call: "place calls",
  read: "read its requests",
  cancel: "cancel them",
  opt_out: "list opt-outs",
  events: "have receivers",
} as const;

/** The tokens that operators made, a form for another one, and the end of each. */
export function TokenTable() {
  const { ask, attempt } = useDesk();
  const live = useLive<Tokens>("/tokens?limit=200", refreshMs);
  const [ending, setEnding] = useState<string>();
  const [made, setMade] = useState<MadeTokenAnswer>();
  const { data: of } = useLive<ClientList>("/clients?limit=200", refreshMs);
  const make = (form: FormData) =>
    attempt(async () => {
      const rights = Object.keys(rightNames).filter((right) => form.has(right));
      const body = { rights, ...(form.has("test") && { mode: "test" }) };
      setMade(await ask<MadeTokenAnswer>(`/clients/${textIn(form, "client")}/tokens`, body));
      return "Made, and recorded. The token is shown once.";
    });
  return (
    <section class="card" aria-labelledby="tokens">
      <h3 id="tokens">Their tokens</h3>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          make(new FormData(event.currentTarget));
        }}
      >
        <Pick
          label="Client of the token"
          name="client"
          isRequired
          options={of?.clients.map(({ name }) => ({ value: name })) ?? []}
        />
        {Object.entries(rightNames).map(([right, label]) => (
          <label key={right} class="choice">
            <input type="checkbox" name={right} checked={right === "call"} /> {label}
          </label>
        ))}
        <label class="choice">
          <input type="checkbox" name="test" /> tests alone
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
          <td class="texts">{rights.join(", ")}</td>
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
