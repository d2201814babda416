import { useState } from "preact/hooks";
import type { Cancelled, Pauses, RequestDetail } from "#shared/answers/answers.ts";
import { addressOf } from "../data/address.ts";
import { Chart } from "../parts/chart.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { type Ask, messageOf, Shown, useDesk, useLive, useRoles } from "../parts/desk.tsx";
import { PauseButton } from "../parts/pause.tsx";
import { isUnderWay, Progress } from "../parts/progress.tsx";
import { counted, countText, Fact, Reason, Time } from "../parts/shared.tsx";
import { WhyCard } from "../parts/why.tsx";

/** Interval of reads. Each counts every call of the request, so large requests are read less often. */
const refreshMs = 10_000;
const largeRefreshMs = 60_000;
const pausesRefreshMs = 20_000;
const largeCalls = 1000;
/** Maximum bars of the chart. */
const barsMax = 14 * 24;

/** One request: its live progress, its failures, and its cancellation. */
export function OneRequest({ id }: { id: string }) {
  const [everyMs, setEveryMs] = useState<number | undefined>(refreshMs);
  const live = useLive<RequestDetail>(`/requests/${encodeURIComponent(id)}`, everyMs);
  const { data } = live;
  const wanted =
    data === undefined || (isUnderWay(data) && data.total <= largeCalls)
      ? refreshMs
      : largeRefreshMs;
  if (wanted !== everyMs) setEveryMs(wanted);
  return (
    <Shown live={live} what="The request">
      {(request) => (
        <>
          <section class="card" aria-labelledby="request">
            <h3 id="request">
              {counted(request.total, "call")} of {request.client}
            </h3>
            <Progress request={request} />
            <dl class="facts">
              <Fact name="Request">{id}</Fact>
              <Fact name="Accepted">
                <Time at={request.accepted_at} />
              </Fact>
              <Fact name="Agents">{request.agents.join(", ")}</Fact>
              {Object.keys(request.by_result).length === 0 ? null : (
                <Fact name="Results">
                  {Object.entries(request.by_result)
                    .map(([name, count]) => `${count} ${name.replace("_", " ")}`)
                    .join(", ")}
                </Fact>
              )}
            </dl>
            <Actions request={request} />
          </section>
          {isUnderWay(request) ? (
            <WhyCard asked={{ request_id: id }} title="Why its calls wait" />
          ) : null}
          <Bars request={request} />
          <Others request={request} />
        </>
      )}
    </Shown>
  );
}

function Actions({ request }: { request: RequestDetail }) {
  const { ask, attempt } = useDesk();
  const [isAsking, setIsAsking] = useState(false);
  const mayDecide = useRoles().includes("decide");
  const waits = isUnderWay(request) && mayDecide;
  return (
    <>
      <p class="line">
        <a class="button" href={addressOf("calls", { request_id: request.id })}>
          Its calls
        </a>
        {waits ? (
          <button type="button" class="grave" onClick={() => setIsAsking(true)}>
            Cancel waiting calls
          </button>
        ) : null}
        {waits ? <AgentPauses agents={request.agents} /> : null}
      </p>
      {waits ? (
        <p class="hint">
          A pause keeps all calls of an agent waiting, those of other requests too.
        </p>
      ) : null}
      {isAsking ? (
        <Confirm
          title={`Cancel the waiting calls of request ${request.id}?`}
          yes="Cancel these calls"
          no="Leave them"
          close={() => setIsAsking(false)}
          act={() =>
            attempt(async () => {
              return cancelAll(ask, { request_id: request.id }, `request ${request.id}`);
            })
          }
        >
          <p>
            {countText(request.by_state.WAITING ?? 0)} of {countText(request.total)} calls of client{" "}
            <b>{request.client}</b> wait. Once cancelled, they are never made. Calls that are still
            on the queue are cancelled too.
          </p>
        </Confirm>
      ) : null}
    </>
  );
}

/** Buttons that pause agents or resume them, or a sentence if it could not be read whether they are paused. */
function AgentPauses({ agents }: { agents: readonly string[] }) {
  const { data, problem, reload } = useLive<Pauses>("/pauses", pausesRefreshMs);
  if (data === undefined) {
    return problem === undefined ? null : (
      <span class="problem">
        It could not be read whether its agents are paused: {problem}{" "}
        <button type="button" onClick={reload}>
          Try again
        </button>
      </span>
    );
  }
  return (
    <>
      {agents.map((agent_id) => (
        <PauseButton key={agent_id} what={{ agent_id }} pauses={data} isNamed />
      ))}
    </>
  );
}

/**
 * Cancels the waiting calls of a request or an agent, answer by answer. Resolves to a sentence with the number of
 * cancelled calls and, if known, of those that the order will end later.
 */
export async function cancelAll(
  ask: Ask,
  what: { request_id: string } | { agent_id: string },
  name: string,
): Promise<string> {
  let count = 0;
  let ordered = 0;
  let cursor: string | undefined;
  do {
    const asked = ask<Cancelled>("/cancel", { ...what, ...(cursor && { cursor }) });
    const answer: Cancelled = await asked.catch((error: unknown) => {
      if (cursor === undefined) throw error;
      // The first answer has stored the order.
      throw new Error(
        `${counted(count, "waiting call")} of ${name} cancelled, the others will be when their turn comes: ${messageOf(error)}`,
        { cause: error },
      );
    });
    count += answer.cancelled;
    ordered = Math.max(ordered, answer.ordered ?? 0);
    cursor = answer.cursor;
  } while (cursor !== undefined);
  const rest =
    ordered > count ? ` ${ordered - count} more will be cancelled when their turn comes.` : "";
  return `${counted(count, "waiting call")} of ${name} cancelled.${rest}`;
}

function Bars({ request: { bars, bar_minutes: minutes } }: { request: RequestDetail }) {
  const [first, last] = [bars[0], bars.at(-1)];
  if (first === undefined || last === undefined) return null;
  const stepMs = minutes * 60_000;
  const end = Date.parse(last.from);
  const from = Math.max(Date.parse(first.from), end - (barsMax - 1) * stepMs);
  const values = (name: "placed" | "others") =>
    new Map(bars.map((one) => [Date.parse(one.from), one[name]]));
  return (
    <section class="card" aria-labelledby="bars">
      <h3 id="bars">{minutes < 60 ? `By ${minutes} minutes` : "By the hour"}</h3>
      <Chart
        label="Calls of the request by the time at which they last changed"
        from={from}
        hours={Math.max(6, (end - from) / stepMs + 1)}
        stepMs={stepMs}
        series={[
          { name: "Placed", class: "PLACED", values: values("placed") },
          { name: "Others", class: "REJECTED", values: values("others") },
        ]}
      />
    </section>
  );
}

function Others({ request: { id, reasons } }: { request: RequestDetail }) {
  if (reasons.length === 0) return null;
  return (
    <section class="card" aria-labelledby="others">
      <h3 id="others">Not placed, and why</h3>
      <ul class="rows">
        {reasons.map(({ reason, count }) => (
          <li key={reason}>
            <a href={addressOf("calls", { request_id: id, reason })}>
              <Reason code={reason} />
            </a>
            <span>{countText(count)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
