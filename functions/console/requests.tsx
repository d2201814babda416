import { useState } from "preact/hooks";
import type { Requests as RequestsPage } from "../api/operator/requests.ts";
import { addressOf, type Place } from "./address.ts";
import { Shown, useDesk, useLive } from "./desk.tsx";
import { OneRequest } from "./one-request.tsx";
import { Progress } from "./progress.tsx";
import { Age, countText } from "./shared.tsx";

const refreshMs = 10_000;

/** Requests with their progress, or one of them if the URL names it. */
export function Requests({ place }: { place: Place }) {
  return place.id === undefined ? (
    <RequestList callsMin={place.query["calls_min"] ?? "2"} />
  ) : (
    <OneRequest key={place.id} id={place.id} />
  );
}

function RequestList({ callsMin }: { callsMin: string }) {
  const { ask, attempt } = useDesk();
  const path = `/requests?calls_min=${encodeURIComponent(callsMin)}`;
  const live = useLive<RequestsPage>(path, refreshMs);
  const [older, setOlder] = useState<RequestsPage>();
  const cursor = older === undefined ? live.data?.cursor : older.cursor;
  const more = () =>
    attempt(async () => {
      const page = await ask<RequestsPage>(`${path}&cursor=${cursor}`);
      setOlder({ ...page, requests: [...(older?.requests ?? []), ...page.requests] });
      return page.requests.length === 0 ? "None found so far; there may be more." : undefined;
    });
  const isAll = callsMin === "1";
  return (
    <>
      <p class="line">
        <a href={addressOf("requests", { calls_min: isAll ? "" : "1" })}>
          {isAll ? "Only requests of several calls" : "Include requests of a single call"}
        </a>
      </p>
      <Shown live={live} what="The requests">
        {({ requests }) => {
          const shown = [...requests, ...(older?.requests ?? [])];
          const isEmpty = shown.length === 0;
          return (
            <>
              {isEmpty && cursor === undefined ? (
                <p class="card">
                  There is no request yet. A batch appears once the dialer has read it.
                </p>
              ) : null}
              {isEmpty && cursor !== undefined ? <p>None among the newest calls.</p> : null}
              <ul class="plain">
                {shown.map((request) => (
                  <li class="card" key={request.id}>
                    <p class="line spread">
                      <a href={addressOf("requests", { id: request.id })}>
                        <b>{countText(request.total)} calls</b> of {request.client}
                      </a>
                      <span class="hint">
                        accepted <Age at={request.accepted_at} />, {request.agents.join(", ")}
                      </span>
                    </p>
                    <Progress request={request} />
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Shown>
      {cursor === undefined ? null : (
        <button type="button" onClick={more}>
          Older requests
        </button>
      )}
    </>
  );
}
