import { useEffect, useRef, useState } from "preact/hooks";
import type { CallDetail, CallView } from "../api/operator/call-view.ts";
import type { CallsPage } from "../api/operator/calls.ts";
import { BulkReview } from "./bulk-review.tsx";
import { ConfirmRedial, decide, type Decision, decisionNames, decisions } from "./decisions.tsx";
import { Needs, Shown, useDesk, useLive, useRoles } from "./desk.tsx";
import { CallFacts, SameNumber, Timeline } from "./call-facts.tsx";

/** Maximum calls that are read at once. More follow when these are decided. */
const takenUp = 200;

/** The calls that need review, one at a time, newest first, and decisions about many at once. */
export function Review() {
  const live = useLive<CallsPage>(`/calls?state=NEEDS_REVIEW&limit=${takenUp}`);
  return (
    <Shown live={live} what="The calls that need review">
      {({ calls, cursor }) =>
        calls.length === 0 ? (
          <p class="card">No call needs review.</p>
        ) : (
          <>
            <OneAtATime calls={calls} hasMore={cursor !== undefined} />
            <Needs role="decide">
              <BulkReview calls={calls} hasMore={cursor !== undefined} />
            </Needs>
          </>
        )
      }
    </Shown>
  );
}

function OneAtATime({ calls, hasMore }: { calls: readonly CallView[]; hasMore: boolean }) {
  const { ask, attempt } = useDesk();
  const mayDecide = useRoles().includes("decide");
  const [chosen, setChosen] = useState(0);
  const [isAsking, setIsAsking] = useState(false);
  const section = useRef<HTMLElement>(null);
  // Decided calls leave the list, so that the next one moves up to this position.
  const index = Math.min(chosen, calls.length - 1);
  const call = calls[index];
  const id = call?.id;
  useEffect(() => section.current?.focus(), [id]);
  if (call === undefined) return null;
  const step = (by: number) => setChosen((index + by + calls.length) % calls.length);
  const carryOut = (decision: Decision) => attempt(() => decide(ask, call.id, decision));
  const choose = (decision: Decision) =>
    decision === "redial" ? setIsAsking(true) : carryOut(decision);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isAsking) return;
    if (event.target instanceof HTMLInputElement) return;
    const key = event.key.toLowerCase();
    if (key === "n") step(1);
    else if (key === "b") step(-1);
    else {
      const name = decisionNames.find((one) => decisions[one].key === key);
      if (name === undefined || !mayDecide) return;
      choose(name);
    }
    event.preventDefault();
  };
  return (
    // Keys work only while the focus is inside, so that they disturb no other tool (WCAG 2.1.4).
    <section
      class="card"
      aria-labelledby="review"
      tabIndex={-1}
      ref={section}
      onKeyDown={onKeyDown}
    >
      <p class="line spread">
        <b id="review">
          Call {index + 1} of {calls.length}
          {hasMore ? "+" : ""} to review
        </b>
        <Steps step={step} />
      </p>
      {mayDecide ? <Decisions choose={choose} /> : null}
      <Known key={call.id} id={call.id} />
      {isAsking ? (
        <ConfirmRedial act={() => carryOut("redial")} close={() => setIsAsking(false)} />
      ) : null}
    </section>
  );
}

/** Steps to the call before or the next one. */
function Steps({ step }: { step(by: number): void }) {
  return (
    <span class="line">
      <button type="button" onClick={() => step(-1)}>
        Back <kbd>B</kbd>
      </button>
      <button type="button" onClick={() => step(1)}>
        Next <kbd>N</kbd>
      </button>
    </span>
  );
}

/** The decisions about a call, each with its key. */
function Decisions({ choose }: { choose(decision: Decision): void }) {
  return (
    <p class="line">
      {decisionNames.map((name) => (
        <button
          key={name}
          type="button"
          class={name === "redial" ? "grave" : undefined}
          onClick={() => choose(name)}
        >
          {decisions[name].label} <kbd>{decisions[name].key.toUpperCase()}</kbd>
        </button>
      ))}
    </p>
  );
}

/** The facts and timeline of a call that needs review, and other calls to its number. */
function Known({ id }: { id: string }) {
  const live = useLive<CallDetail>(`/calls/${encodeURIComponent(id)}`);
  return (
    <Shown live={live} what="The call">
      {(call) => (
        <div class="halves">
          <div>
            <h3>What is known</h3>
            <CallFacts call={call} />
          </div>
          <div>
            <h3>What happened</h3>
            <Timeline call={call} />
            <h3>Other calls to the number</h3>
            <SameNumber id={id} />
          </div>
        </div>
      )}
    </Shown>
  );
}
