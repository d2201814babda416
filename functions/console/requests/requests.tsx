import type { Requests as RequestsPage, RequestView } from "#shared/answers/answers.ts";
import { addressOf, go, type Place } from "../data/address.ts";
import { useDesk } from "../parts/desk.tsx";
import { Export } from "../parts/export.tsx";
import { FilterField, Filters } from "../parts/filters.tsx";
import { ListEnd } from "../parts/list-end.tsx";
import { OneRequest } from "./one-request.tsx";
import { HeldOf, Pace, Parts } from "../parts/progress.tsx";
import { counted, Table, TestMark, textIn, Time } from "../parts/shared.tsx";
import { useList } from "../parts/use-list.ts";

/** Maximum requests of a page. */
const pageItems = 20;

/** Fields of the filter in the URL, and their labels. */
const fields = { client: "Client", campaign: "Campaign", agent_id: "Agent" } as const;

/** Requests with their progress, or one of them if the URL names it. */
export function Requests({ place }: { place: Place }) {
  return place.id === undefined ? (
    <>
      <Search filter={place.query} />
      <RequestList key={JSON.stringify(place.query)} filter={place.query} />
    </>
  ) : (
    <OneRequest key={place.id} id={place.id} />
  );
}

type Filter = Place["query"];

function Search({ filter }: { filter: Filter }) {
  const { calls_min: callsMin = "" } = filter;
  const isAll = callsMin === "1";
  const search = (form: FormData) => {
    const given = Object.keys(fields).map((name) => [name, textIn(form, name)] as const);
    go(addressOf("requests", { calls_min: callsMin, ...Object.fromEntries(given) }));
  };
  const count = Object.keys(fields).filter((name) => filter[name] !== undefined).length;
  return (
    <div class="line spread">
      <Filters count={count} search={search}>
        {Object.entries(fields).map(([name, label]) => (
          <FilterField key={name} name={name} label={label} value={filter[name]} />
        ))}
      </Filters>
      <a href={addressOf("requests", { ...filter, calls_min: isAll ? "" : "1" })}>
        {isAll ? "Only requests of several calls" : "Include requests of a single call"}
      </a>
    </div>
  );
}

const columns = ["Request", "Progress", "Held now", "Pace and end", "Campaign", "Accepted"];

function Row({ request }: { request: RequestView }) {
  return (
    <tr>
      <th scope="row">
        <a href={addressOf("requests", { id: request.id })}>
          {counted(request.total, "call")} of {request.client}
        </a>{" "}
        <TestMark client={request.client} />
        <span class="hint block">{request.agents.join(", ")}</span>
      </th>
      <td class="texts">
        <Parts request={request} />
      </td>
      <td class="texts">
        <HeldOf request={request} />
      </td>
      <td class="texts">
        <Pace request={request} />
      </td>
      <td>{request.campaign}</td>
      <td>
        <Time at={request.accepted_at} />
      </td>
    </tr>
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
    <section class="card" aria-label="All requests">
      {list.items === undefined || list.items.length === 0 ? null : (
        <Table label="Requests" columns={columns}>
          {list.items.map((request) => (
            <Row key={request.id} request={request} />
          ))}
        </Table>
      )}
      <ListEnd list={list} what="The requests" nothing={nothing} more="Older requests" />
      <Export of="requests" filter={filter} />
    </section>
  );
}
