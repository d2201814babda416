import { useEffect, useRef, useState } from "preact/hooks";
import { callStates } from "#shared/calls/states.ts";
import type { Bulk, BulkAction } from "#shared/answers/answers.ts";
import { askRepeatedly } from "../data/client.ts";
import { Confirm } from "./confirm.tsx";
import { type Ask, messageOf, useDesk } from "./desk.tsx";
import { undoMs, usePending } from "./pending.tsx";
import { counted, countText, stateText } from "./shared.tsx";

/** The actions on many calls: their buttons, and what they mean for people. */
export const bulkActions = {
  cancel: {
    label: "Cancel",
    means:
      "They are no longer dialed. Calls still on the queue are not included: to cancel those, cancel their request or agent.",
  },
  placed: { label: "Mark as placed", means: "Their numbers and contexts are erased." },
  close: { label: "Not placed: close", means: "They are no longer dialed." },
  redial: { label: "Call again", means: "Each is replaced by a new call." },
} as const satisfies Record<BulkAction, { label: string; means: string }>;

/** An action on all calls that match a filter. */
export interface BulkWork {
  action: BulkAction;
  filter: Readonly<Record<string, string>>;
  /** Label of the action, and the calls in words: `calls of agent_1`. */
  label: string;
  what: string;
}

interface Total {
  found: number;
  done: number;
  refused: Readonly<Record<string, number>>;
  countedAt: string;
}
const nothing: Total = { found: 0, done: 0, refused: {}, countedAt: "" };

/** The work that is under way. `cursor` is that of its next request. */
interface Stage {
  is: "counting" | "asking" | "held" | "acting" | "failed";
  work: BulkWork;
  total: Total;
  /** Number of calls that were counted. */
  count: number;
  cursor?: string | undefined;
  problem?: string;
}

/** Tools of a work that is under way. */
interface Working {
  ask: Ask;
  setStage(stage: Stage | undefined): void;
  /** True once the operator has stopped the work, or left its view. */
  isStopped(): boolean;
}

/** Counts the calls of a work, asks, and acts on them part by part. Leaving the view stops it after a part. */
export function useBulk() {
  const { ask, attempt, say } = useDesk();
  const { send } = usePending();
  const [stage, setStage] = useState<Stage>();
  const stopped = useRef(false);
  const stop = () => {
    stopped.current = true;
  };
  useEffect(() => stop, []);
  const working = { ask, setStage, isStopped: () => stopped.current };
  const begin = (work: BulkWork) => {
    // A decision about one of these calls is sent first.
    send();
    say(`Counting: ${work.what}.`);
    stopped.current = false;
    attempt(() => countCalls(work, working));
  };
  const hold = (from: Stage) => setStage({ ...from, is: "held" });
  const goOn = (from: Stage) => {
    stopped.current = false;
    attempt(() => act(from, working));
  };
  // A dialog that was confirmed closes after the work has begun.
  const close = () =>
    setStage((now) => (now?.is === "asking" || now?.is === "failed" ? undefined : now));
  const undo = ({ work }: Stage) => {
    setStage(undefined);
    say(`Undone, nothing was changed: ${work.label}, ${work.what}.`);
  };
  const view = stage && <StageView stage={stage} does={{ stop, hold, undo, goOn, close }} />;
  return { begin, isBusy: stage !== undefined, view };
}

/** Counts the calls of a work, and asks about them. */
async function countCalls(
  work: BulkWork,
  { ask, setStage, isStopped }: Working,
): Promise<string | undefined> {
  let total = nothing;
  let cursor: string | undefined;
  try {
    do {
      setStage({ is: "counting", work, total, count: total.found });
      const answer = await askAgain(ask, { ...bodyOf(work), dry_run: true, cursor });
      total = sum(total, answer);
      cursor = answer.cursor;
    } while (cursor !== undefined && !isStopped());
  } catch (error) {
    setStage(undefined);
    throw error;
  }
  const isAsked = total.found > 0 && !isStopped();
  setStage(isAsked ? { is: "asking", work, total, count: total.found } : undefined);
  if (isAsked) return undefined;
  return isStopped() ? "Nothing was changed." : "No call matches any more.";
}

/** Acts on the calls that were counted, or continues where a request failed. */
async function act(from: Stage, { ask, setStage, isStopped }: Working): Promise<string> {
  const { work, count } = from;
  const { countedAt } = from.total;
  const body = { ...bodyOf(work), counted_at: countedAt };
  let { cursor } = from;
  let total = from.is === "failed" ? from.total : { ...nothing, countedAt };
  try {
    do {
      setStage({ is: "acting", work, total, count, cursor });
      const answer = await askAgain(ask, { ...body, cursor });
      total = sum(total, answer);
      cursor = answer.cursor;
    } while (cursor !== undefined && !isStopped());
  } catch (error) {
    const problem = `${messageOf(error)} ${resultOf(work, total)}`;
    setStage({ is: "failed", work, total, count, cursor, problem });
    throw error;
  }
  setStage(undefined);
  const rest = cursor === undefined ? "" : " It was stopped: the others were not changed.";
  return `${resultOf(work, total)}${rest}`;
}

function bodyOf({ action, filter }: BulkWork): object {
  return { action, filter, ...(action === "redial" ? { not_placed: true } : {}) };
}

/** A repeated request acts on the same calls. */
function askAgain(ask: Ask, body: object): Promise<Bulk> {
  return askRepeatedly(() => ask<Bulk>("/bulk", body));
}

function sum(total: Total, { found, done, refused, counted_at: countedAt }: Bulk): Total {
  const all = { ...total.refused };
  for (const [why, count] of Object.entries(refused)) all[why] = (all[why] ?? 0) + count;
  return { found: total.found + found, done: total.done + done, refused: all, countedAt };
}

function leftOf(refused: Total["refused"]): number {
  return Object.values(refused).reduce((all, one) => all + one, 0);
}

function resultOf({ label }: BulkWork, { done, refused }: Total): string {
  const left = leftOf(refused);
  const why = Object.entries(refused).map(([name, count]) => `${count} ${whyText(name)}`);
  const texts = left === 0 ? "" : ` ${left} were not changed: ${why.join(", ")}.`;
  return `${label}: ${counted(done, "call")} done.${texts}`;
}

/** The reasons for which a call was left, besides its state. */
const whys: Readonly<Record<string, string>> = {
  changed: "changed meanwhile",
  erased: "whose number is erased",
  gone: "deleted",
  unreadable: "that a later version of the service wrote",
};

function whyText(name: string): string {
  const state = callStates.find((one) => one === name);
  return state === undefined ? (whys[name] ?? name) : stateText(state).toLowerCase();
}

interface StageActs {
  stop(): void;
  /** Waits for the time in which it can be undone. */
  hold(from: Stage): void;
  undo(from: Stage): void;
  goOn(from: Stage): void;
  close(): void;
}

function StageView({ stage, does }: { stage: Stage; does: StageActs }) {
  const { stop, hold, undo, goOn, close } = does;
  const { is, work, total, count } = stage;
  switch (is) {
    case "counting":
      return (
        <p class="line">
          Counting: at least {countText(count)} {work.what} …
          <button type="button" onClick={stop}>
            Stop counting
          </button>
        </p>
      );
    case "asking":
      return (
        <Confirm
          title={`${work.label}: all ${countText(count)} ${work.what}?`}
          yes={`${work.label}: ${counted(count, "call")}`}
          count={count}
          act={() => hold(stage)}
          close={close}
        >
          <p>{bulkActions[work.action].means}</p>
          {work.filter["state"] === "NEEDS_REVIEW" && work.action === "redial" ? (
            <p>Each number is called again, even if the first call was placed after all.</p>
          ) : null}
        </Confirm>
      );
    case "held":
      return <Held stage={stage} undo={() => undo(stage)} begin={() => goOn(stage)} />;
    case "acting":
      return <ProgressLine total={total} count={count} stop={stop} />;
    case "failed":
      return (
        <p class="problem">
          {stage.problem}{" "}
          <button type="button" onClick={() => goOn(stage)}>
            Continue
          </button>{" "}
          <button type="button" onClick={close}>
            Leave the others
          </button>
        </p>
      );
  }
}

/** Offers for 10 s to undo what was confirmed, before anything is done. */
function Held({ stage, undo, begin }: { stage: Stage; undo(): void; begin(): void }) {
  const until = useRef(Date.now() + undoMs);
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const isOver = now >= until.current;
  useEffect(() => {
    if (isOver) begin();
  }, [isOver]);
  const { work, count } = stage;
  return (
    <p class="line">
      {work.label}: {counted(count, "call")}, in{" "}
      {Math.max(0, Math.ceil((until.current - now) / 1000))} s, unless you undo it or leave this
      view.
      <button type="button" onClick={undo}>
        Undo
      </button>
      <button type="button" onClick={begin}>
        Do it now
      </button>
    </p>
  );
}

function ProgressLine({ total, count, stop }: { total: Total; count: number; stop(): void }) {
  const left = leftOf(total.refused);
  return (
    <p class="line">
      <progress max={count} value={total.done + left} aria-label="Calls done" />
      {countText(total.done)} of {countText(count)} done
      {left === 0 ? "" : `, ${countText(left)} not changed`}
      <button type="button" onClick={stop}>
        Stop
      </button>
    </p>
  );
}
