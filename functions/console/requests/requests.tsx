import type { Requests as RequestsPage, RequestView } from "#shared/answers/answers.ts";
import { addressOf, go, type Place } from "../data/address.ts";
import { useDesk } from "../parts/desk.tsx";
import { Export } from "../parts/export.tsx";
import { ListEnd } from "../parts/list-end.tsx";
import { OneRequest } from "./one-request.tsx";
import { Progress } from "../parts/progress.tsx";
import { Age, counted, TestMark, textIn } from "../parts/shared.tsx";
import { useList } from "../parts/use-list.ts";

/** Maximum requests of a page. */
const pageItems = 20;

/** Fields of the filter in the URL, and their labels. */
const fields = { client: "Client", campaign: "Campaign", agent_id: "Agent" } as const;

/** Requests with their progress, or one of them if the URL names it. */
export function Requests({ place }: { place: Place }) {
  return place.id === undefined ? (
    <>
      <Filters filter={place.query} />
      <RequestList key={JSON.stringify(place.query)} filter={place.query} />
    </>
  ) : (
    <OneRequest key={place.id} id={place.id} />
  );
}

type Filter = Place["query"];

function Filters({ filter }: { filter: Filter }) {
  const { calls_min: callsMin = "" } = filter;
  const isAll = callsMin === "1";
  return (
    <>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const given = Object.keys(fields).map((name) => [name, textIn(form, name)] as const);
          go(addressOf("requests", { calls_min: callsMin, ...Object.fromEntries(given) }));
        }}
      >
        {Object.entries(fields).map(([name, label]) => (
          <label key={name}>
            {label}
            <input key={filter[name]} name={name} defaultValue={filter[name]} autocomplete="off" />
          </label>
        ))}
        <button type="submit">Search</button>
      </form>
      <p class="line">
        <a href={addressOf("requests", { ...filter, calls_min: isAll ? "" : "1" })}>
          {isAll ? "Only requests of several calls" : "Include requests of a single call"}
        </a>
      </p>
    </>
  );
}

function RequestList({ filter }: { filter: Filter }) {
  const { ask } = useDesk();
  const list = useList<RequestView>({
    pageItems,
    idOf: ({ id }) => id,
    // A cursor is the id of a request's first call.
    place: (items) => items.map((item) => ({ item, position: `call_${item.id}_00000` })),
    async load(cursor) {
      const query = { calls_min: "2", ...filter, ...(cursor === undefined ? {} : { cursor }) };
      const page = await ask<RequestsPage>(`/requests?${new URLSearchParams(query).toString()}`);
      return { items: page.requests, cursor: page.cursor, lookedUntil: page.looked_until };
    },
  });
  const isFiltered = Object.keys(fields).some((name) => filter[name] !== undefined);
  const nothing = isFiltered
    ? "There is no such request."
    : "There is no request yet. A batch appears once the dialer has read it.";
  return (
    <>
      <ul class="plain">
        {list.items?.map((request) => (
          <li class="card" key={request.id}>
            <p class="line spread">
              <a href={addressOf("requests", { id: request.id })}>
                <b>{counted(request.total, "call")}</b> of {request.client}
              </a>{" "}
              <TestMark client={request.client} />
              <span class="hint">
                {request.campaign === null ? null : `${request.campaign}, `}accepted{" "}
                <Age at={request.accepted_at} />, {request.agents.join(", ")}
              </span>
            </p>
            <Progress request={request} />
          </li>
        ))}
      </ul>
      <ListEnd list={list} what="The requests" nothing={nothing} more="Older requests" />
      <Export of="requests" filter={filter} />
    </>
  );
}
