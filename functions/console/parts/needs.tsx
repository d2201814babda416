import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Need, Needs } from "#shared/answers/answers.ts";
import { addressOf, type View } from "../data/address.ts";
import { type Live, Shown, useDesk, useLive, WithRole } from "./desk.tsx";
import { useResume } from "./pause.tsx";
import { Age, counted, countText } from "./shared.tsx";

const refreshMs = 20_000;
/** Name under which the browser keeps that its operator wants notifications. */
const notifyKey = "outbound-calls-notify";

interface NeedsTools {
  live: Live<Needs>;
  /** Calls to review as the review shows them now; undefined while it is not open. */
  reviewed: number | undefined;
  setReviewed(count: number | undefined): void;
}

const NeedsContext = createContext<NeedsTools | undefined>(undefined);

/** Reads what needs a person, for the navigation, the title, the list and notifications. */
export function NeedsReader({ children }: { children: ComponentChildren }) {
  const live = useLive<Needs>("/needs", refreshMs);
  useNotifications(live.data?.needs);
  const [reviewed, setReviewed] = useState<number>();
  return (
    <NeedsContext.Provider value={{ live, reviewed, setReviewed }}>
      {children}
    </NeedsContext.Provider>
  );
}

/** Has the navigation show the number of calls that the review shows, while that is open. */
export function useReviewCount(count: number): void {
  const tools = useContext(NeedsContext);
  useEffect(() => tools?.setReviewed(count), [count]);
  useEffect(() => () => tools?.setReviewed(undefined), []);
}

/** Number of needs that a view is about; 0 while they are not known. */
export function useNeedCount(view: View): number {
  const { live, reviewed } = useContext(NeedsContext) ?? {};
  const needs = live?.data?.needs ?? [];
  if (view === "overview") return needs.length;
  if (view !== "review") return 0;
  if (reviewed !== undefined) return reviewed;
  return needs.reduce((sum, { kind, calls }) => sum + (kind === "review" ? (calls ?? 0) : 0), 0);
}

/** The number of needs beside the name of a view in the navigation. */
export function NeedCount({ view }: { view: View }) {
  const count = useNeedCount(view);
  return count === 0 ? null : (
    <span class="count">
      {" "}
      {countText(count)}
      <span class="unseen"> need a person</span>
    </span>
  );
}

/** Notifies of each new need, if the operator of this browser wants that. */
function useNotifications(needs: readonly Need[] | undefined): void {
  const known = useRef<Set<string> | undefined>(undefined);
  useEffect(() => {
    if (needs === undefined) return;
    const before = known.current;
    known.current = new Set(needs.map(({ id }) => id));
    if (before === undefined || !isNotifying()) return;
    for (const { id, what, means } of needs)
      if (!before.has(id)) notify(`Outbound Calls: ${what}`, means);
  }, [needs]);
}

function isNotifying(): boolean {
  return (
    "Notification" in window &&
    Notification.permission === "granted" &&
    localStorage.getItem(notifyKey) === "on"
  );
}

function notify(title: string, body: string): void {
  try {
    // The browser shows the notification; the page stores nothing.
    void new Notification(title, { body });
  } catch {
    // Some browsers on phones have the class, and allow it to service workers alone.
  }
}

/** A button that asks the browser for permission to notify, and a button that stops notifications. */
function NotifyButton() {
  const { say } = useDesk();
  const [isOn, setIsOn] = useState(isNotifying);
  if (!("Notification" in window)) return null;
  const turn = async () => {
    if (isOn) localStorage.removeItem(notifyKey);
    else if ((await Notification.requestPermission()) === "granted")
      localStorage.setItem(notifyKey, "on");
    else say("The browser does not permit notifications of this page.");
    setIsOn(isNotifying());
  };
  return (
    <button type="button" class="quiet" aria-pressed={isOn} onClick={() => void turn()}>
      {isOn ? "Do not notify me any more" : "Notify me of new ones"}
    </button>
  );
}

/** One list of what needs a person. */
export function NeedList() {
  const live = useContext(NeedsContext)?.live;
  if (live === undefined) return null;
  return (
    <section class="card" aria-labelledby="needs">
      <div class="line spread">
        <h3 id="needs" tabIndex={-1}>
          What needs a person
        </h3>
        <NotifyButton />
      </div>
      <Shown live={live} what="What needs a person">
        {({ needs, unread }) => (
          <>
            {unread.map((part) => (
              <p class="problem" key={part}>
                {partNames[part]} could not be read; there may be more than is shown.
              </p>
            ))}
            {needs.length === 0 && unread.length === 0 ? <p>Nothing does.</p> : null}
            <ul class="plain">
              {needs.map((need) => (
                <NeedItem key={need.id} need={need} />
              ))}
            </ul>
          </>
        )}
      </Shown>
    </section>
  );
}

const partNames: Record<Needs["unread"][number], string> = {
  breakers: "Circuit breakers",
  pauses: "Pauses",
  review: "Calls to review",
  events: "Events that were not delivered",
  dead_letters: "Dead letters",
  ledger: "The state of the ledger",
  pools: "Pools of numbers",
  held: "The calls that wait",
};

/** Names a need: `Circuit breaker: account vapi`. */
const kindNames: Record<Need["kind"], string> = {
  breaker: "Circuit breaker",
  pause: "Pause",
  review: "Review",
  events: "Events",
  dead_letters: "Dead letters",
  restored: "Restored",
  ledger_full: "Full",
  sweep_halted: "Halted",
  pool: "Pool rests",
  held: "Held",
};

/** Views that show more of a need. The others have none. */
const viewOf: Partial<Record<Need["kind"], View>> = {
  breaker: "accounts",
  pause: "accounts",
  pool: "accounts",
  held: "accounts",
  events: "incidents",
  dead_letters: "incidents",
  restored: "incidents",
  review: "review",
};

function NeedItem({ need }: { need: Need }) {
  const { kind, what, account, since, code, means, fix } = need;
  const view = viewOf[kind];
  const name = `${kindNames[kind]}: ${what}`;
  const isNamed = account === null || what.includes(account);
  return (
    <li class="need">
      <p>
        {view === undefined ? <b>{name}</b> : <a href={addressOf(view)}>{name}</a>}
        {isNamed ? null : `, account ${account}`}
        {code === null ? null : <code class="code">{code}</code>}
        <span class="hint">
          {" "}
          {since === null ? null : (
            <>
              began <Age at={since} />
            </>
          )}
          {callsText(need)}
        </span>
      </p>
      <p>
        {means} <b>{fix}</b>
      </p>
      <ResumeButton need={need} />
    </li>
  );
}

/** Says how many calls of which clients a need is about. */
function callsText({ kind, calls, calls_max, clients, since }: Need): string {
  const parts = [];
  const does = kind === "review" ? "to decide" : kind === "events" ? "with events" : "held";
  if (calls !== null && calls > 0)
    parts.push(`${counted(calls, "call", calls_max ?? undefined)} ${does}`);
  if (clients.length > 0) parts.push(`of ${clients.join(", ")}`);
  return parts.length === 0 ? "" : `${since === null ? "" : ", "}${parts.join(" ")}`;
}

/** The button that ends a breaker or a pause, for those who may. */
function ResumeButton({ need: { resume, what } }: { need: Need }) {
  const { ask, attempt } = useDesk();
  const resumePaused = useResume();
  if (resume === null) return null;
  const { breaker, ...paused } = resume;
  const close = () =>
    attempt(async () => {
      await ask("/resume", { breaker });
      return `Resumed: ${what}.`;
    });
  return (
    <WithRole role="decide">
      <button
        type="button"
        onClick={() => {
          // The item goes away, and the focus with it.
          document.getElementById("needs")?.focus();
          if (breaker === undefined) resumePaused(paused);
          else close();
        }}
      >
        Resume <span class="unseen">{what}</span>
      </button>
    </WithRole>
  );
}
