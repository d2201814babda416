import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { indexOf } from "#shared/calls/ids.ts";
import { callStates } from "#shared/calls/states.ts";
import type { CallsPage, ListedCall } from "#shared/answers/answers.ts";
import { addressOf, go, type Place } from "../data/address.ts";
import { BulkCalls } from "./bulk-calls.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { useDesk, WithRole } from "../parts/desk.tsx";
import { Export } from "../parts/export.tsx";
import { FilterField, Filters } from "../parts/filters.tsx";
import { ListEnd } from "../parts/list-end.tsx";
import { OneCall } from "./one-call.tsx";
import { findWholeOrder } from "../data/chosen-calls.ts";
import { Stopped } from "../parts/pause.tsx";
import { cancelAll } from "../requests/one-request.tsx";
import {
  countText,
  Reason,
  StateName,
  Table,
  TestMark,
  textIn,
  Time,
  zoneText,
} from "../parts/shared.tsx";
import { PhoneNumber, useNumberField } from "../parts/phone-number.tsx";
import { seekNumber, useSoughtNumber } from "../data/sought-number.ts";
import { useList } from "../parts/use-list.ts";
import { Held } from "../parts/why.tsx";

/** Fields of the filter in the URL, and their labels. */
const fields = {
  client: "Client",
  campaign: "Campaign",
  agent_id: "Agent",
  account: "Account",
  reason: "Reason",
  request_id: "Request",
  provider_call_id: "Provider's call id",
} as const;

/** The list of calls. Its filter is in the URL, except a number, which no URL may contain. */
export function Calls({ place }: { place: Place }) {
  const { call: opened, ...filter } = place.query;
  const number = useSoughtNumber();
  const isOpen = opened !== undefined;
  return (
    <div class={isOpen ? "beside open" : "beside"}>
      <div class="card list">
        <States filter={filter} />
        <Search filter={filter} number={number} />
        <BulkCalls filter={filter} number={number} />
        <Found
          key={JSON.stringify([filter, number])}
          filter={filter}
          number={number}
          opened={opened}
        />
      </div>
      {isOpen ? <OneCall key={opened} id={opened} closeTo={addressOf("calls", filter)} /> : null}
    </div>
  );
}

/** Reason of calls that wait for the time at which their callees asked to be called back. */
const promised = "call_back";

type Filter = Readonly<Record<string, string>>;

function States({ filter }: { filter: Filter }) {
  const { state = "", reason = "", ...others } = filter;
  const isPromised = reason === promised;
  const kept = isPromised || reason === "" ? others : { ...others, reason };
  const link = (chosen: string, name: ComponentChildren) => (
    <li key={chosen}>
      <a
        class="tab"
        href={addressOf("calls", { ...kept, state: chosen })}
        aria-current={state === chosen && !isPromised ? "true" : undefined}
      >
        {name}
      </a>
    </li>
  );
  return (
    <nav aria-label="States">
      <ul class="tabs">
        {link("", "All")}
        {callStates.map((one) => link(one, <StateName state={one} />))}
        <li>
          <a
            class="tab"
            href={addressOf("calls", { ...others, state: "WAITING", reason: promised })}
            aria-current={isPromised ? "true" : undefined}
          >
            Promised calls
          </a>
        </li>
      </ul>
    </nav>
  );
}

function Search({ filter, number }: { filter: Filter; number: string }) {
  const field = useNumberField(number);
  const search = async (form: FormData) => {
    const sought = await field.take();
    // If the text is not a number, a message below its field says so, and nothing is searched.
    if (sought === undefined && field.text.trim() !== "") return;
    const given = Object.keys(fields).map((name) => [name, textIn(form, name)] as const);
    seekNumber(sought?.number ?? "");
    const times = ["from", "until"].map((name) => [name, instantIn(textIn(form, name))] as const);
    go(addressOf("calls", { state: filter["state"], ...Object.fromEntries([...given, ...times]) }));
  };
  const count = Object.keys(filter).filter((name) => name !== "state").length;
  return (
    <Filters count={count} isUsed={count > 0 || number !== ""} search={(form) => void search(form)}>
      {Object.entries(fields).map(([name, label]) => (
        <FilterField key={name} name={name} label={label} value={filter[name]} />
      ))}
      <WithRole role="find">
        <PhoneNumber label="Number" field={field} isRequired={false} />
      </WithRole>
      {Object.entries({ from: "Accepted from", until: "Accepted until" }).map(([name, label]) => (
        <label key={name}>
          {label} ({zoneText()})
          <input
            key={filter[name]}
            type="datetime-local"
            name={name}
            defaultValue={localIn(filter[name])}
          />
        </label>
      ))}
    </Filters>
  );
}

/** Converts the text of a field of a local time to an instant; an empty one stays. */
function instantIn(local: string): string {
  return local === "" ? "" : new Date(local).toISOString();
}

function localIn(instant: string | undefined): string {
  if (instant === undefined || Number.isNaN(Date.parse(instant))) return "";
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Maximum calls of a page. */
const pageItems = 50;

/** Reads the calls of a filter page by page. */
function useCalls(filter: Filter, number: string) {
  const { ask } = useDesk();
  return useList<ListedCall>({
    pageItems,
    idOf: ({ id }) => id,
    place: placeCalls,
    async load(cursor) {
      const query = {
        limit: pageItems,
        held_now: "true",
        ...filter,
        ...(cursor === undefined ? {} : { cursor }),
      };
      const texts = Object.entries(query).map(([name, value]) => [name, String(value)]);
      const page =
        number === ""
          ? await ask<CallsPage>(`/calls?${new URLSearchParams(texts).toString()}`)
          : await ask<CallsPage>("/calls/search", { phone_number: number, ...query });
      const left = page.unreadable;
      return {
        items: page.calls,
        cursor: page.cursor,
        lookedUntil: page.looked_until,
        ...(left === undefined
          ? {}
          : { note: `${left} calls left out: a later version of the service wrote them.` }),
      };
    },
  });
}

/** Returns the calls with their positions: a later try stands before its call, and has the position of it. */
function placeCalls(calls: readonly ListedCall[]) {
  let position = "";
  const placed = calls.toReversed().map((item) => {
    if (position === "" || (item.tries?.number ?? 1) === 1) position = item.id;
    return { item, position };
  });
  return placed.toReversed();
}

function Found({
  filter,
  number,
  opened,
}: {
  filter: Filter;
  number: string;
  opened: string | undefined;
}) {
  const list = useCalls(filter, number);
  const calls = list.items ?? [];
  return (
    <>
      {calls.length === 0 ? null : (
        <>
          <Reasons calls={calls} filter={filter} />
          <List calls={calls} filter={filter} opened={opened} />
        </>
      )}
      <ListEnd list={list} what="The calls" nothing="There is no such call." />
      <div class="line">
        <WithRole role="decide">
          <CancelAll filter={filter} number={number} />
        </WithRole>
      </div>
      <Export of="calls" filter={filter} number={number} />
    </>
  );
}

function Reasons({ calls, filter }: { calls: readonly ListedCall[]; filter: Filter }) {
  const reasons = new Map<string, number>();
  // A waiting call's own reason is that of its last look: what holds it now stands in its row.
  for (const { reason, held_now: held } of calls)
    if (held === undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  if (reasons.size === 0) return null;
  return (
    <p class="line reasons">
      {[...reasons].map(([reason, count]) => (
        <a key={reason} href={addressOf("calls", { ...filter, reason })}>
          <Reason code={reason} /> {countText(count)}
        </a>
      ))}
    </p>
  );
}

function List({
  calls,
  filter,
  opened,
}: {
  calls: readonly ListedCall[];
  filter: Filter;
  opened: string | undefined;
}) {
  const columns = ["Call", "State", "Reason", "Agent", "Number", "Next", "Changed"];
  return (
    <Table label="Calls found" columns={columns}>
      {calls.map((call) => (
        <tr key={call.id} aria-current={call.id === opened ? "true" : undefined}>
          <th scope="row">
            <a href={addressOf("calls", { ...filter, call: call.id })} title={call.id}>
              <Time at={call.accepted_at} /> #{indexOf(call.id)}
            </a>
          </th>
          <td>
            <StateName state={call.state} />
          </td>
          <td class="texts">
            {call.held_now === undefined ? (
              <Reason code={call.reason} />
            ) : (
              <Held {...call.held_now} />
            )}
          </td>
          <td>
            {call.agent_id} <TestMark client={call.client} />
          </td>
          <td>…{call.number_tail}</td>
          <td>
            <Time at={call.due_at} callee={call.time_zones} />
          </td>
          <td>
            <Time at={call.updated_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The button that cancels the waiting calls of the filter's request or agent, if the list shows all of them. */
function CancelAll({ filter, number }: { filter: Filter; number: string }) {
  const { ask, attempt } = useDesk();
  const [isAsking, setIsAsking] = useState(false);
  const what = findWholeOrder(filter, number);
  if (what === undefined) return null;
  const ofAgent = "agent_id" in what;
  const name = ofAgent ? `agent ${what.agent_id}` : `request ${what.request_id}`;
  return (
    <>
      <button type="button" class="grave" onClick={() => setIsAsking(true)}>
        Cancel the waiting calls of {name}
      </button>
      {isAsking ? (
        <Confirm
          title={`Cancel the waiting calls of ${name}?`}
          yes="Cancel these calls"
          no="Leave them"
          close={() => setIsAsking(false)}
          act={() =>
            attempt(async () => {
              return cancelAll(ask, what, name);
            })
          }
        >
          {ofAgent ? <Stopped what={what} verb="cancels" /> : null}
          <p>Calls that are still on the queue are cancelled too.</p>
        </Confirm>
      ) : null}
    </>
  );
}
