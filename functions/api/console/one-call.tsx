import { useEffect, useRef, useState } from "preact/hooks";
import { meaningOf } from "../../../shared/calls/reasons.ts";
import type { CallStory } from "../operator/call-view.ts";
import type { Revealed } from "../operator/calls.ts";
import type { Redialed } from "../operator/redial.ts";
import { type Ask, type Attempt, Fact, names, Time, timeText } from "./shared.tsx";

/** Describes what became of a placed call. */
function resultText({ status, human, seconds }: NonNullable<CallStory["result"]>): string {
  const who = human === null ? "" : human ? ", a person" : ", a machine";
  return `${status.replace("_", " ")}${who}${seconds === null ? "" : `, ${seconds} s`}`;
}

/** One call, its history, and the decisions open to the operator. */
export function OneCall({
  id,
  ask: asking,
  attempt,
  changes,
  open,
}: {
  id: string;
  ask: Ask;
  attempt: Attempt;
  changes: number;
  open(id: string | undefined): void;
}) {
  const [call, setCall] = useState<CallStory>();
  const [revealed, setRevealed] = useState<Revealed>();
  const heading = useRef<HTMLHeadingElement>(null);
  const path = `/calls/${encodeURIComponent(id)}`;
  useEffect(() => {
    asking<CallStory>(path).then(setCall, () => undefined);
  }, [asking, path, changes]);
  const isLoaded = call !== undefined;
  useEffect(() => heading.current?.focus(), [isLoaded]);
  if (call === undefined) return <section class="card">Loading …</section>;
  const act = (words: string, way: string, body: object = {}) =>
    attempt(async () => {
      await asking(path + way, body);
      return words;
    });
  const redial = (body: object = {}) =>
    attempt(async () => {
      const made = await asking<Redialed>(`${path}/redial`, body);
      return `The call is made again as ${made.id}.`;
    });
  const needsReview = call.state === "NEEDS_REVIEW";
  const meaning = meaningOf(call.reason);
  const link = (label: string, other: string | null) =>
    other === null ? null : (
      <>
        <dt>{label}</dt>
        <dd>
          <button type="button" class="quiet" onClick={() => open(other)}>
            {other}
          </button>
        </dd>
      </>
    );
  return (
    <section class="card" aria-labelledby="call">
      <h2 id="call" tabIndex={-1} ref={heading}>
        Call {call.id}
      </h2>
      <dl>
        <Fact name="State">
          <span class={`dot ${call.state}`} aria-hidden="true" /> {names[call.state]}
        </Fact>
        <Fact name="Reason">
          {call.reason}
          {meaning === undefined ? null : <span class="hint"> {meaning}</span>}
        </Fact>
        <Fact name="Agent">{call.agent_id}</Fact>
        <Fact name="Account">{call.provider ?? "none yet"}</Fact>
        <Fact name="Provider's id">{call.provider_call_id ?? "none"}</Fact>
        {call.result === null ? null : <Fact name="Result">{resultText(call.result)}</Fact>}
        <Fact name="Request">{call.request_id}</Fact>
        <Fact name="Number">
          {revealed === undefined ? `…${call.number_tail}` : revealed.phone_number}{" "}
          {call.can_be_revealed && revealed === undefined ? (
            <button
              type="button"
              onClick={() =>
                attempt(async () => {
                  setRevealed(await asking<Revealed>(`${path}/reveal`, {}));
                  return "Shown, and recorded that you asked.";
                })
              }
            >
              Show number and context
            </button>
          ) : null}
        </Fact>
        {revealed === undefined
          ? null
          : Object.entries(revealed.context).map(([name, value]) => (
              <Fact name={`context ${name}`}>{value}</Fact>
            ))}
        {link("Made instead of", call.redial_of)}
        {link("Made again as", call.redialed_as)}
      </dl>
      <p class="line">
        {needsReview ? (
          <>
            <button
              type="button"
              onClick={() => act("Marked as placed.", "/resolve", { outcome: "placed" })}
            >
              It was placed
            </button>
            <button type="button" class="grave" onClick={() => redial({ not_placed: true })}>
              It was not: call again
            </button>
            <button
              type="button"
              onClick={() => act("Closed.", "/resolve", { outcome: "not_placed" })}
            >
              It was not: let it be
            </button>
          </>
        ) : null}
        {call.state === "REJECTED" || call.state === "EXPIRED" ? (
          <button type="button" onClick={() => redial()}>
            Call again
          </button>
        ) : null}
        {call.state === "REDIALED" ? (
          <button type="button" onClick={() => redial()}>
            Send the new call again
          </button>
        ) : null}
        {call.state === "WAITING" ? (
          <button type="button" onClick={() => act("Cancelled.", "/cancel")}>
            Cancel this call
          </button>
        ) : null}
        <button type="button" class="quiet" onClick={() => open(undefined)}>
          Close
        </button>
      </p>
      <h3>What happened</h3>
      <ol class="story">
        {call.history.map((step) => (
          <li>
            <Time at={step.at} /> <span class={`dot ${step.state}`} aria-hidden="true" />{" "}
            <b>{names[step.state]}</b> {step.reason}
            {step.due_at === null ? "" : `, until ${timeText(step.due_at)}`}
            {step.by === null ? "" : `, by ${step.by}`}
          </li>
        ))}
      </ol>
    </section>
  );
}
