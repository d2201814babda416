import type { Clients as ClientList, MadeTokenAnswer, Tokens } from "#shared/answers/answers.ts";
import { useState } from "preact/hooks";
import { Confirm } from "../parts/confirm.tsx";
import { Shown, useDesk, useLive } from "../parts/desk.tsx";
import { Pick } from "../parts/pick.tsx";
import { MoreByCommand, Table, textIn, Time } from "../parts/shared.tsx";

const refreshMs = 60_000;

const rightNames = {
  call: "place calls",
  read: "read its requests",
  cancel: "cancel its waiting calls",
  opt_out: "add opt-outs",
  events: "manage its receivers of events",
} as const;

/** States that are more than a word. */
const stateTexts: Partial<Record<Tokens["tokens"][number]["state"], string>> = {
  client_removed: "its client is removed",
  replaced: "replaced by API_TOKENS",
  key_gone: "HASH_KEY lacks its key",
};

/** The tokens that operators made, a form for another one, and the end of each. */
export function TokenTable() {
  const { ask, attempt } = useDesk();
  const live = useLive<Tokens>("/tokens?limit=200", refreshMs);
  const [revoking, setRevoking] = useState<string>();
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
      <h3 id="tokens">Tokens that operators made</h3>
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
          <input type="checkbox" name="test" /> tests only
        </label>
        <button type="submit">Make a token</button>
      </form>
      {made === undefined ? null : (
        <p>
          Token {made.id}, shown only now: <code>{made.token}</code>
        </p>
      )}
      <Shown live={live} what="The tokens">
        {({ tokens, cursor }) => (
          <>
            <TokenRows tokens={tokens} revoke={setRevoking} />
            <MoreByCommand cursor={cursor} command="tokens list" />
          </>
        )}
      </Shown>
      {revoking === undefined ? null : (
        <RevokeToken id={revoking} close={() => setRevoking(undefined)} />
      )}
    </section>
  );
}

function TokenRows({ tokens, revoke }: { tokens: Tokens["tokens"]; revoke(id: string): void }) {
  if (tokens.length === 0) return <p>Operators have made no token.</p>;
  return (
    <Table label="Tokens" columns={["Token", "Revoke", "Client", "State", "Rights", "Last used"]}>
      {tokens.map(({ id, client, state, rights, last_used_at }) => (
        <tr key={id}>
          <th scope="row">{id}</th>
          <td>
            {state === "valid" ? (
              <button type="button" class="grave" onClick={() => revoke(id)}>
                Revoke … <span class="unseen">token {id}</span>
              </button>
            ) : null}
          </td>
          <td>{client}</td>
          <td>{stateTexts[state] ?? state}</td>
          <td class="texts">{rights.join(", ")}</td>
          <td>{last_used_at === null ? "not known" : <Time at={last_used_at} />}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Asks before a token is revoked. */
function RevokeToken({ id, close }: { id: string; close(): void }) {
  const { ask, attempt } = useDesk();
  const act = () =>
    attempt(async () => {
      await ask(`/tokens/${encodeURIComponent(id)}/revoke`, {});
      return `Token ${id} is revoked within a minute.`;
    });
  return (
    <Confirm title={`Revoke token ${id}?`} yes="Revoke it for good" act={act} close={close}>
      <p>Whoever has it can no longer place calls or read anything.</p>
    </Confirm>
  );
}
