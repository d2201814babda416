import { useState } from "preact/hooks";
import type { Backlogs, Paused, Pauses, PauseView } from "#shared/answers/answers.ts";
import { Confirm } from "./confirm.tsx";
import { type Ask, Shown, useDesk, useLive, WithRole } from "./desk.tsx";
import { countText, shortTime } from "./shared.tsx";
import { useUndo } from "./undo.tsx";

/** The target of a pause: exactly one of these is named. */
export type Pausable = Pick<PauseView, "agent_id" | "account" | "client">;

/** Names a target: `account vapi`. */
export function nameOf({ agent_id, account, client = "" }: Pausable): string {
  if (agent_id !== undefined) return `agent ${agent_id}`;
  return account === undefined ? `client ${client}` : `account ${account}`;
}

function targetOf({ agent_id, account, client }: Pausable): Pausable {
  if (agent_id !== undefined) return { agent_id };
  return account === undefined ? { client: client ?? "" } : { account };
}

/** Returns the pause of a target; undefined if it is not paused. */
function findPause(what: Pausable, pauses: Pauses): PauseView | undefined {
  return pauses.pauses.find((one) => nameOf(one) === nameOf(what));
}

/**
 * A button that resumes an agent, an account or a client, or asks before it pauses it.
 *
 * @param props.pauses undefined: it is not known whether it is paused
 * @param props.isNamed true where nothing beside the button names the target
 */
export function PauseButton({
  what,
  pauses,
  isNamed = false,
}: {
  what: Pausable;
  pauses: Pauses | undefined;
  isNamed?: boolean;
}) {
  const resume = useResume();
  const [isAsking, setIsAsking] = useState(false);
  if (pauses === undefined) return <>not known</>;
  const paused = findPause(what, pauses);
  return (
    <WithRole role="decide">
      <button
        type="button"
        onClick={() => (paused === undefined ? setIsAsking(true) : resume(what, paused))}
      >
        {paused === undefined ? "Pause" : "Resume"}{" "}
        <span class={isNamed ? undefined : "unseen"}>{nameOf(what)}</span>
      </button>
      {isAsking ? <AskPause what={what} close={() => setIsAsking(false)} /> : null}
    </WithRole>
  );
}

/**
 * Returns a function that resumes a target, and offers to pause it again as it was paused. A pause that is not given is
 * read first.
 */
export function useResume(): (what: Pausable, known?: PauseView) => void {
  const { ask, attempt } = useDesk();
  const offerUndo = useUndo();
  return (what, known) =>
    attempt(async () => {
      const pause = known ?? findPause(what, await ask<Pauses>("/pauses"));
      if (pause === undefined) return `Nothing was done: ${nameOf(what)} is not paused.`;
      const texts = await resumeNow(ask, what);
      offerUndo({ texts, undo: async () => pausedText(await pauseNow(ask, what, pause)) });
      return texts;
    });
}

async function resumeNow(ask: Ask, what: Pausable): Promise<string> {
  await ask("/resume", targetOf(what));
  return `Resumed: ${nameOf(what)}.`;
}

type PauseOrder = Pick<PauseView, "reason" | "until">;

function pauseNow(ask: Ask, what: Pausable, { reason, until }: PauseOrder): Promise<Paused> {
  const more = { ...(reason !== null && { reason }), ...(until !== null && { until }) };
  return ask<Paused>("/pause", { ...targetOf(what), ...more });
}

function pausedText({ until, is_new, ...what }: Paused): string {
  const end = until === null ? "" : `, until ${shortTime(until)}`;
  return `${is_new ? "Paused" : "It was paused already"}: ${nameOf(what)}${end}.`;
}

/** Resumes what was just paused, unless somebody has paused it again since. Resolves to a message. */
async function undoPause(ask: Ask, made: Paused): Promise<string> {
  const current = findPause(made, await ask<Pauses>("/pauses"));
  const isSame = current?.until === made.until && current.reason === made.reason;
  if (current !== undefined && !isSame)
    throw new Error(`Somebody has paused ${nameOf(made)} again: it stays paused.`);
  return resumeNow(ask, made);
}

/** The dialog before a pause: whose calls it stops, why, and until when. */
export function AskPause({ what, close }: { what: Pausable; close(): void }) {
  const { ask, attempt } = useDesk();
  const offerUndo = useUndo();
  const [reason, setReason] = useState("");
  const [end, setEnd] = useState<End>({ name: "resumed", time: "" });
  const act = async () => {
    const why = reason.trim() === "" ? null : reason.trim();
    const made = await pauseNow(ask, what, { reason: why, until: instantOf(end) });
    const texts = pausedText(made);
    // Undoing another operator's pause would let calls go that somebody has stopped.
    if (made.is_new) offerUndo({ texts, undo: () => undoPause(ask, made) });
    // The pause is made: this shows it in all views.
    attempt(async () => texts);
  };
  return (
    <Confirm
      title={`Pause ${nameOf(what)}?`}
      yes={`Pause ${nameOf(what)}`}
      no="Leave it running"
      isReady={end.name !== "time" || end.time !== ""}
      act={act}
      close={close}
    >
      <Stopped what={what} />
      <p class="hint">
        Calls that come later wait too, and may expire. Calls in progress are not cancelled.
      </p>
      <label>
        Why (other operators see it)
        <input
          name="reason"
          maxLength={200}
          autocomplete="off"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <Ends end={end} choose={setEnd} />
    </Confirm>
  );
}

/** The end of a pause, as chosen: `time` is that of the field, in the viewer's zone. */
interface End {
  name: "resumed" | "hour" | "day" | "time";
  time: string;
}

/** Returns the instant at which a pause ends; null: when somebody resumes it. */
function instantOf({ name, time }: End): string | null {
  const now = new Date();
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1);
  const at = {
    resumed: () => null,
    hour: () => new Date(now.getTime() + 3_600_000),
    day: () => midnight,
    time: () => new Date(time),
  }[name]();
  return at === null ? null : at.toISOString();
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const ends: readonly (readonly [End["name"], string])[] = [
  ["resumed", "somebody resumes it"],
  ["hour", "in one hour"],
  ["day", `the end of today (${zone})`],
  ["time", `a time (${zone})`],
];

function Ends({ end, choose }: { end: End; choose(end: End): void }) {
  return (
    <fieldset>
      <legend>Until</legend>
      {ends.map(([name, label]) => (
        <label key={name} class="choice">
          <input
            type="radio"
            name="until"
            checked={end.name === name}
            onChange={() => choose({ ...end, name })}
          />{" "}
          {label}
        </label>
      ))}
      {end.name === "time" ? (
        <input
          type="datetime-local"
          aria-label={`Time at which the pause ends (${zone})`}
          value={end.time}
          onInput={(event) => choose({ ...end, time: event.currentTarget.value })}
        />
      ) : null}
    </fieldset>
  );
}

/** Maximum backlogs whose calls are counted before a pause. */
const countedMax = 100;

/** Says whose waiting calls a pause stops, or an order cancels. */
export function Stopped({ what, verb = "stops" }: { what: Pausable; verb?: "stops" | "cancels" }) {
  const backlogs = useLive<Backlogs>(`/backlogs?limit=${countedMax}`);
  return (
    <Shown live={backlogs} what="The waiting calls">
      {(data) => <p>{stoppedText(what, data, verb)}</p>}
    </Shown>
  );
}

/** Describes the waiting calls of a target, by client: `It stops 91 waiting calls of client research.` */
function stoppedText(what: Pausable, { backlogs, cursor }: Backlogs, verb: string): string {
  const own = backlogs.filter((one) => concerns(what, one));
  const counts = [...Map.groupBy(own, ({ client }) => client)].map(([client, some]) => {
    const calls = some.reduce((sum, { waiting }) => sum + waiting, 0);
    const isMore = some.some(({ waiting_is_whole: isWhole }) => !isWhole);
    return { client, calls: `${isMore ? "at least " : ""}${countText(calls)}` };
  });
  const unread = cursor === undefined ? "" : " There are more backlogs, which were not counted.";
  const [first, ...others] = counts;
  if (first === undefined) return `No call of it waits now.${unread}`;
  if (others.length === 0) {
    const noun = first.calls === "1" ? "call" : "calls";
    return `It ${verb} ${first.calls} waiting ${noun} of client ${first.client}.${unread}`;
  }
  const each = counts.map(({ client, calls }) => `${calls} of ${client}`).join(", ");
  return `It ${verb} the waiting calls of ${counts.length} clients: ${each}.${unread}`;
}

/** True if a pause of the target stops the backlog. An account's name may be that of its provider and a host. */
function concerns(
  { agent_id, account, client }: Pausable,
  backlog: Backlogs["backlogs"][number],
): boolean {
  if (agent_id !== undefined) return backlog.agent_id === agent_id;
  if (account === undefined) return backlog.client === client;
  return backlog.account === account || backlog.account?.startsWith(`${account}:`) === true;
}
