import { useEffect, useRef, useState } from "preact/hooks";
import type { CallDetail, CallView, ReviewPage } from "#shared/answers/answers.ts";
import { BulkReview } from "./bulk-review.tsx";
import { type Decision, decisionNames, decisions } from "../parts/decision.ts";
import { ConfirmRedial } from "../call/decisions.tsx";
import { type Live, Shown, useLive, useRoles, WithRole } from "../parts/desk.tsx";
import { usePending } from "../parts/pending.tsx";
import { useReviewCount } from "../parts/needs.tsx";
import { CallFacts, SameNumber, Timeline } from "../call/call-facts.tsx";

/** Maximum calls that are read at once. More follow when these are decided. */
const takenUp = 200;

/** The calls that need review, one at a time, oldest first, and decisions about many at once. */
export function Review() {
  const live = useLive<ReviewPage>(`/review?limit=${takenUp}`);
  const { decided, pending } = usePending();
  return (
    <Shown live={live} what="The calls that need review">
      {({ calls: listed, cursor, unreadable }) => {
        const calls = listed.filter(({ id }) => !decided.has(id));
        return calls.length === 0 && unreadable === 0 ? (
          <p class="card">No {pending === undefined ? "" : "other "}call needs review.</p>
        ) : (
          <>
            {unreadable === 0 ? null : (
              <p class="problem">
                {unreadable} calls left out: a later version of the service wrote them.
              </p>
            )}
            <OneAtATime calls={calls} hasMore={cursor !== undefined} />
            <WithRole role="decide">
              <BulkReview calls={calls} hasMore={cursor !== undefined} />
            </WithRole>
          </>
        );
      }}
    </Shown>
  );
}

/** Time for which a call is shown before it can be decided: a second press meant for another call does nothing to it. */
const seenMs = 500;

function OneAtATime({ calls, hasMore }: { calls: readonly CallView[]; hasMore: boolean }) {
  const mayDecide = useRoles().includes("decide");
  const { take, send } = usePending();
  const { call, index, step } = useChosen(calls);
  useReviewCount(calls.length);
  const [isAsking, setIsAsking] = useState(false);
  const section = useRef<HTMLElement>(null);
  const live = useLive<CallDetail>(
    call === undefined ? undefined : `/calls/${encodeURIComponent(call.id)}`,
  );
  const isSeen = useSeen(live.data?.id);
  const id = call?.id;
  useEffect(() => section.current?.focus(), [id]);
  if (call === undefined) return null;
  // The decision is about the call as it was shown: the service refuses a call that has changed since.
  const shown = live.data ?? call;
  const choose = (decision: Decision) => {
    if (!isSeen() || !mayDecide) return;
    if (decision === "redial") setIsAsking(true);
    else take(shown, decision);
  };
  return (
    // Keys work only while the focus is inside, so that they disturb no other tool (WCAG 2.1.4).
    <section
      class="card"
      aria-labelledby="review"
      tabIndex={-1}
      ref={section}
      onKeyDown={(event) => onKeyDown(event, { step, send, choose })}
    >
      <p class="line spread">
        <b id="review">
          Call {index + 1} of {calls.length}
          {hasMore ? "+" : ""} to review
        </b>
        <Steps step={step} />
      </p>
      <WithRole role="decide">
        <Decisions choose={choose} isSeen={isSeen()} />
        <p class="hint">
          A decision is sent 10 seconds later, or with the next one: <kbd>U</kbd> undoes it,{" "}
          <kbd>S</kbd> sends it at once.
        </p>
      </WithRole>
      <OpenedCall key={call.id} id={call.id} live={live} />
      {aheadOf(calls, index).map(({ id: next }) => (
        <Ahead key={next} id={next} />
      ))}
      {isAsking ? (
        <ConfirmRedial act={() => take(shown, "redial")} close={() => setIsAsking(false)} />
      ) : null}
    </section>
  );
}

/** Performs what a key stands for. Keys are left alone while a dialog is open, which they would reach too. */
function onKeyDown(
  event: KeyboardEvent,
  {
    step,
    send,
    choose,
  }: { step(by: number): void; send(): void; choose(decision: Decision): void },
): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  // A held key repeats for the next call, and for the button of a dialog that it has opened.
  if (event.repeat && ["enter", " "].includes(key)) event.preventDefault();
  if (event.repeat) return;
  if (event.target instanceof Element && event.target.closest("input, dialog") !== null) return;
  const decision = decisionNames.find((one) => decisions[one].key === key);
  if (key === "n") step(1);
  else if (key === "b") step(-1);
  else if (key === "s") send();
  else if (decision !== undefined) choose(decision);
  else return;
  event.preventDefault();
}

/**
 * Returns the call that is shown. It stays when the list changes around it; when it leaves the list, the next one takes
 * its position. A call whose decision was undone is shown again.
 */
function useChosen(calls: readonly CallView[]) {
  const { undone } = usePending();
  const [, render] = useState({});
  // Keys that come before the next rendering must see what the last one has chosen.
  const chosen = useRef<{ id?: string | undefined; index: number }>({ index: 0 });
  const choose = (id: string | undefined, index = chosen.current.index) => {
    chosen.current = { id, index };
    render({});
  };
  const found = calls.findIndex(({ id }) => id === chosen.current.id);
  const index =
    found === -1 ? Math.max(0, Math.min(chosen.current.index, calls.length - 1)) : found;
  const call = calls[index];
  chosen.current = { id: call?.id, index };
  useEffect(() => {
    if (undone !== undefined) choose(undone.id);
  }, [undone]);
  const step = (by: number) => {
    const next = (chosen.current.index + by + calls.length) % calls.length;
    choose(calls[next]?.id, next);
  };
  return { call, index, step };
}

/** Calls after the shown one that are read before it is decided, and the interval at which they are read again. */
const aheadMax = 3;
const aheadRefreshMs = 60_000;

/** Returns the calls that come after the one at an index. */
function aheadOf(calls: readonly CallView[], index: number): CallView[] {
  return [...calls.slice(index + 1), ...calls.slice(0, index)].slice(0, aheadMax);
}

/** Reads a call before it is shown, so that it is there at once. */
function Ahead({ id }: { id: string }) {
  useLive<CallDetail>(`/calls/${encodeURIComponent(id)}`, aheadRefreshMs);
  return null;
}

/**
 * Returns a function that checks whether the facts of this call have been painted for a while. A key that comes before the
 * next rendering must not decide the next call by the time of the last one.
 */
function useSeen(id: string | undefined): () => boolean {
  const [seen, setSeen] = useState<string>();
  const shown = useRef(id);
  shown.current = id;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(() => setSeen(id), seenMs);
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [id]);
  return () => id !== undefined && seen === id && shown.current === id;
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
function Decisions({ choose, isSeen }: { choose(decision: Decision): void; isSeen: boolean }) {
  return (
    <p class="line">
      {decisionNames.map((name) => (
        <button
          key={name}
          type="button"
          class={name === "redial" ? "grave" : undefined}
          disabled={!isSeen}
          onClick={() => choose(name)}
        >
          {decisions[name].label} <kbd>{decisions[name].key.toUpperCase()}</kbd>
        </button>
      ))}
    </p>
  );
}

/** The facts and timeline of a call that needs review, and other calls to its number. */
function OpenedCall({ id, live }: { id: string; live: Live<CallDetail> }) {
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
