import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { CallView } from "../operator/call-view.ts";
import type { CallsPage } from "../operator/calls.ts";
import type { Cancelled } from "../operator/cancellations.ts";
import type { Counts } from "../operator/counts.ts";
import { type Ask, type Attempt, type Filter, names, states, textIn, Time } from "./shared.tsx";

/** List of calls of a state, a request or a number, or of all calls. */
export function Calls({
  filter,
  setFilter,
  standing,
  ask: asking,
  attempt,
  changes,
  opened,
  open,
}: {
  filter: Filter;
  setFilter(filter: Filter): void;
  standing: Counts | undefined;
  ask: Ask;
  attempt: Attempt;
  changes: number;
  opened: string | undefined;
  open(id: string): void;
}) {
  const [calls, setCalls] = useState<CallView[]>();
  const [cursor, setCursor] = useState<string>();
  const [problem, setProblem] = useState("");
  const dialog = useRef<HTMLDialogElement>(null);
  const load = useCallback(
    async (from: string | undefined) => {
      const { phone_number, ...query } = filter;
      if (phone_number !== "") {
        const place = from === undefined ? {} : { cursor: from };
        return asking<CallsPage>("/calls/search", { phone_number, limit: 50, ...place });
      }
      const words = new URLSearchParams({ limit: "50" });
      for (const [name, value] of Object.entries(query)) if (value !== "") words.set(name, value);
      if (from !== undefined) words.set("cursor", from);
      return asking<CallsPage>(`/calls?${words.toString()}`);
    },
    [filter, asking],
  );
  useEffect(() => {
    let isCurrent = true;
    const read = async () => {
      const page = await load(undefined).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : "The calls could not be read.";
        return { calls: [], cursor: undefined, why };
      });
      if (!isCurrent) return;
      setCalls(page.calls);
      setCursor(page.cursor);
      if ("why" in page) setProblem(page.why);
      else if (page.unreadable === undefined) setProblem("");
      else
        setProblem(`${page.unreadable} calls left out: a later version of the service wrote them.`);
    };
    void read();
    return () => {
      isCurrent = false;
    };
  }, [load, changes]);
  const more = () =>
    attempt(async () => {
      const page = await load(cursor);
      setCalls([...(calls ?? []), ...page.calls]);
      setCursor(page.cursor);
      return page.calls.length === 0 ? "None of these; there may be more." : undefined;
    });
  const cancelled =
    filter.request_id === "" ? { agent_id: filter.agent_id } : { request_id: filter.request_id };
  const cancelsWhat =
    filter.request_id === "" ? `agent ${filter.agent_id}` : `request ${filter.request_id}`;
  const cancel = () =>
    attempt(async () => {
      dialog.current?.close();
      let count = 0;
      let from: string | undefined;
      do {
        const answer: Cancelled = await asking("/cancel", {
          ...cancelled,
          ...(from === undefined ? {} : { cursor: from }),
        });
        count += answer.cancelled;
        from = answer.cursor;
      } while (from !== undefined);
      return `${count} waiting calls of ${cancelsWhat} cancelled.`;
    });
  const field = (name: keyof Filter, label: string) => (
    <label>
      {label}
      <input key={filter[name]} name={name} defaultValue={filter[name]} autocomplete="off" />
    </label>
  );
  const reasons = new Map<string, number>();
  for (const { reason } of calls ?? []) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const canCancel =
    filter.state === "WAITING" && (filter.agent_id !== "" || filter.request_id !== "");
  return (
    <section class="card" aria-labelledby="calls">
      <h2 id="calls">Calls</h2>
      <nav aria-label="States">
        <button
          type="button"
          aria-pressed={filter.state === ""}
          onClick={() => setFilter({ ...filter, state: "", phone_number: "" })}
        >
          All
        </button>
        {states.map((state) => {
          const count = standing?.standing[state];
          const text = count === standing?.standing_most ? `${count}+` : count;
          return (
            <button
              type="button"
              aria-pressed={filter.state === state}
              onClick={() => setFilter({ ...filter, state, phone_number: "" })}
            >
              <span class={`dot ${state}`} aria-hidden="true" /> {names[state]}
              {count === undefined ? "" : ` ${text}`}
            </button>
          );
        })}
      </nav>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const given = (name: string) => textIn(form, name);
          setFilter({
            state: filter.state,
            agent_id: given("agent_id"),
            provider: given("provider"),
            reason: given("reason"),
            request_id: given("request_id"),
            phone_number: given("phone_number"),
          });
        }}
      >
        {field("agent_id", "Agent")}
        {field("provider", "Account")}
        {field("reason", "Reason")}
        {field("request_id", "Request")}
        {field("phone_number", "Number")}
        <button type="submit">Search</button>
      </form>
      {problem === "" ? null : <p class="problem">{problem}</p>}
      {calls === undefined ? <p>Loading …</p> : null}
      {calls?.length === 0 && problem === "" ? (
        <p>{cursor === undefined ? "There is no such call." : "None yet; there may be more."}</p>
      ) : null}
      {reasons.size === 0 ? null : (
        <p class="line reasons">
          Why, of these:
          {[...reasons].map(([reason, count]) => (
            <button
              type="button"
              class="quiet"
              key={reason}
              onClick={() => setFilter({ ...filter, reason })}
            >
              {reason} {count}
            </button>
          ))}
        </p>
      )}
      {calls === undefined || calls.length === 0 ? null : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Calls found">
          <table>
            <thead>
              <tr>
                <th scope="col">Call</th>
                <th scope="col">State</th>
                <th scope="col">Reason</th>
                <th scope="col">Agent</th>
                <th scope="col">Number</th>
                <th scope="col">Next</th>
                <th scope="col">Changed</th>
              </tr>
            </thead>
            <tbody>
              {calls.map((call) => (
                <tr key={call.id} aria-current={call.id === opened ? "true" : undefined}>
                  <th scope="row">
                    <button type="button" class="quiet" onClick={() => open(call.id)}>
                      {call.id.slice("call_".length)}
                    </button>
                  </th>
                  <td>
                    <span class={`dot ${call.state}`} aria-hidden="true" /> {names[call.state]}
                  </td>
                  <td>{call.reason}</td>
                  <td>{call.agent_id}</td>
                  <td>…{call.number_tail}</td>
                  <td>
                    <Time at={call.due_at} />
                  </td>
                  <td>
                    <Time at={call.updated_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="line">
        {cursor === undefined ? null : (
          <button type="button" onClick={more}>
            More
          </button>
        )}
        {canCancel ? (
          <button type="button" onClick={() => dialog.current?.showModal()}>
            Cancel all that wait of {cancelsWhat}
          </button>
        ) : null}
      </p>
      <dialog ref={dialog} aria-labelledby="cancel-all">
        <h3 id="cancel-all">Cancel what waits of {cancelsWhat}?</h3>
        <p>Also what is still on the queue. Nobody of it will be called.</p>
        <p class="line">
          <button type="button" class="grave" onClick={cancel}>
            Cancel these calls
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Leave them
          </button>
        </p>
      </dialog>
    </section>
  );
}
