import type { ClientReceiversAnswer, Clients, PutReceiver } from "#shared/answers/answers.ts";
import { clientInPath } from "#shared/calls/client-path.ts";
import { useState } from "preact/hooks";
import { Confirm } from "../parts/confirm.tsx";
import { Shown, useDesk, useLive } from "../parts/desk.tsx";
import { Pick } from "../parts/pick.tsx";
import { Table, textIn, Time } from "../parts/shared.tsx";

/** Form for the address to which a client's events are posted. */
export function ReceiverForm({ clients }: { clients: Clients["clients"] }) {
  const { ask, attempt } = useDesk();
  const [secret, setSecret] = useState<string>();
  const put = (form: FormData) =>
    attempt(async () => {
      const [client, url] = [textIn(form, "client"), textIn(form, "url")];
      const made = await ask<PutReceiver>(`PUT /clients/${client}/receiver`, { url });
      setSecret(made.secret);
      return `Events of ${client} are delivered to ${url}.`;
    });
  return (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault();
        put(new FormData(event.currentTarget));
      }}
    >
      <Pick
        label="Client whose events are delivered"
        name="client"
        isRequired
        options={clients.map(({ name }) => ({ value: name }))}
      />
      <label>
        URL of its receiver
        <input name="url" type="url" required placeholder="https://" />
      </label>
      <button type="submit">Make or replace the receiver</button>
      {secret === undefined ? null : (
        <p>
          The receiver's secret, shown only now: <code>{secret}</code>
        </p>
      )}
    </form>
  );
}

const pathOf = (client: string) => `/clients/${clientInPath(client)}/receivers`;

/** The receivers of one client, also of one that only API_TOKENS has. */
export function Receivers({ clients }: { clients: Clients["clients"] }) {
  const [client, setClient] = useState<string>();
  const [deleting, setDeleting] = useState<string>();
  const live = useLive<ClientReceiversAnswer>(client && pathOf(client));
  return (
    <>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          setClient(textIn(new FormData(event.currentTarget), "client"));
        }}
      >
        <Pick
          label="Client with receivers"
          name="client"
          isRequired
          isFree
          options={clients.map(({ name }) => ({ value: name }))}
        />
        <button type="submit">Show its receivers</button>
      </form>
      {client === undefined ? null : (
        <Shown live={live} what="The receivers">
          {({ receivers }) => <ReceiverTable receivers={receivers} remove={setDeleting} />}
        </Shown>
      )}
      {client === undefined || deleting === undefined ? null : (
        <DeleteReceiver client={client} name={deleting} close={() => setDeleting(undefined)} />
      )}
    </>
  );
}

function ReceiverTable({
  receivers,
  remove,
}: ClientReceiversAnswer & { remove(name: string): void }) {
  if (receivers.length === 0) return <p>This client has no receiver of its own.</p>;
  return (
    <Table label="Receivers" columns={["Receiver", "Delete", "URL", "Echo", "Made"]}>
      {receivers.map(({ name, url, echo, created_at }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td>
            <button type="button" class="grave" onClick={() => remove(name)}>
              Delete … <span class="unseen">receiver {name}</span>
            </button>
          </td>
          <td class="texts">{url}</td>
          <td class="texts">{echo.join(", ")}</td>
          <td>
            <Time at={created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface Deletion {
  client: string;
  name: string;
  close(): void;
}

/** Asks before a receiver is deleted. */
function DeleteReceiver({ client, name, close }: Deletion) {
  const { ask, attempt } = useDesk();
  const act = () =>
    attempt(async () => {
      await ask(`DELETE ${pathOf(client)}/${name}`, {});
      return `Receiver ${name} of ${client} is deleted.`;
    });
  return (
    <Confirm title={`Delete receiver ${name}?`} yes="Delete it for good" act={act} close={close}>
      <p>Its pending events are not delivered.</p>
    </Confirm>
  );
}
