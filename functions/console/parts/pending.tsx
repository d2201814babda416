import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useRef, useState } from "preact/hooks";
import { indexOf } from "#shared/calls/ids.ts";
import type { CallView } from "#shared/answers/answers.ts";
import { addressOf } from "../data/address.ts";
import { askRepeatedly } from "../data/client.ts";
import { decide, type Decision, decisions } from "./decision.ts";
import { type Ask, messageOf, useDesk } from "./desk.tsx";
import { UndoBar } from "./undo.tsx";

/** Time in which a decision can be undone before it is sent. */
export const undoMs = 10_000;
/** Time for which a call that was decided is left out of lists, which may have been read before. */
const settleMs = 5000;

const signOutEvent = "outbound-calls-sign-out";

/** Time for which the outcome of a decision is shown. */
const becameMs = 30_000;

interface Pending {
  call: CallView;
  decision: Decision;
  /** Milliseconds since the epoch. */
  sendAt: number;
}

interface PendingTools {
  pending: Pending | undefined;
  /** Ids of the calls whose decision is pending, on its way, or just made. */
  decided: ReadonlySet<string>;
  /** The call whose decision was undone last. */
  undone: { id: string } | undefined;
  /** Takes a decision. It is sent 10 s later; one that is pending already is sent at once. */
  take(call: CallView, decision: Decision): void;
  /** Sends the pending decision at once. */
  send(): void;
}

const PendingContext = createContext<PendingTools | undefined>(undefined);

export function usePending(): PendingTools {
  const tools = useContext(PendingContext);
  if (tools === undefined) throw new Error("a decision is outside of the desk");
  return tools;
}

/** Names a call in a sentence. */
function callName({ id, agent_id, number_tail }: CallView): string {
  return `call #${indexOf(id)} of ${agent_id} to …${number_tail}`;
}

function takenText(call: CallView, decision: Decision): string {
  const { label } = decisions[decision];
  return `${label}: ${callName(call)}. It is sent in ${undoMs / 1000} seconds; U undoes it.`;
}

/**
 * Stores the decision that is not sent yet, whatever view is shown. Closing the page sends it, so only Undo loses a
 * decision.
 */
export function PendingDecision({ children }: { children: ComponentChildren }) {
  // Each view has tools of its own; a decision outlives the view in which it was made.
  const desk = useDesk();
  const tools = useRef(desk);
  tools.current = desk;
  const [pending, setPending] = useState<Pending>();
  const [undone, setUndone] = useState<{ id: string }>();
  const [became, setBecame] = useState<{ call: CallView; texts: string }>();
  // Events that come before the next rendering must see what is pending.
  const current = useRef<Pending | undefined>(undefined);
  const replace = (next: Pending | undefined) => {
    current.current = next;
    setPending(next);
  };
  const { decided, taken, add, forget } = useDecided();
  const send = useCallback(() => {
    const one = current.current;
    if (one === undefined) return;
    replace(undefined);
    const { call } = one;
    const carryOut = async () => {
      const { texts, isDone } = await carriedOut(one, tools.current.ask);
      setBecame({ call, texts });
      setTimeout(() => forget(call.id), isDone ? settleMs : 0);
      if (!isDone) throw new Error(texts);
      return texts;
    };
    tools.current.attempt(carryOut);
  }, []);
  const take = (call: CallView, decision: Decision) => {
    // A second key before the next rendering means no other decision about the same call.
    if (taken.current.has(call.id)) return;
    send();
    replace({ call, decision, sendAt: Date.now() + undoMs });
    add(call.id);
    setBecame(undefined);
    tools.current.say(takenText(call, decision));
  };
  const undo = useCallback(() => {
    const one = current.current;
    if (one === undefined) return;
    replace(undefined);
    forget(one.call.id);
    setUndone({ id: one.call.id });
    const { label } = decisions[one.decision];
    tools.current.say(`Undone, nothing was sent: ${label}, ${callName(one.call)}.`);
  }, []);
  useSending(pending, send);
  useUndoKey(pending !== undefined, undo);
  return (
    <PendingContext.Provider value={{ pending, decided, undone, take, send }}>
      {children}
      <Dock>
        {became === undefined ? null : (
          <Became {...became} key={became.call.id} close={() => setBecame(undefined)} />
        )}
        {pending === undefined ? null : <Bar pending={pending} undo={undo} send={send} />}
      </Dock>
    </PendingContext.Provider>
  );
}

/** Keeps the ids of decided calls: `taken` for events before the next rendering. */
function useDecided() {
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set());
  const taken = useRef(new Set<string>());
  const forget = (id: string) => {
    taken.current.delete(id);
    setDecided((before) => new Set([...before].filter((one) => one !== id)));
  };
  const add = (id: string) => {
    taken.current.add(id);
    setDecided((before) => new Set([...before, id]));
  };
  return { decided, taken, add, forget };
}

/** All bars below the views. Separate bars would cover each other. */
function Dock({ children }: { children: ComponentChildren }) {
  return (
    <div class="dock">
      <UndoBar />
      {children}
    </div>
  );
}

/** Sends a decision, again if its answer was lost: the service executes it once. Resolves to its outcome in words. */
async function carriedOut(
  { call, decision }: Pending,
  ask: Ask,
): Promise<{ texts: string; isDone: boolean }> {
  try {
    const done = await askRepeatedly(() => decide(ask, call, decision));
    return { texts: `${done} It was ${callName(call)}.`, isDone: true };
  } catch (error) {
    const what = `${decisions[decision].label}: not done, ${callName(call)}.`;
    return { texts: `${what} ${messageOf(error)}`, isDone: false };
  }
}

/** Says that the operator is about to sign out: what is pending must go while the token is known. */
export function announceSignOut(): void {
  dispatchEvent(new Event(signOutEvent));
}

/** Sends a decision when its time to undo is over, or when the page is left or signed out of. */
function useSending(pending: Pending | undefined, send: () => void): void {
  useEffect(() => {
    if (pending === undefined) return undefined;
    const timer = setTimeout(send, pending.sendAt - Date.now());
    return () => clearTimeout(timer);
  }, [pending, send]);
  useEffect(() => {
    for (const name of ["pagehide", signOutEvent]) addEventListener(name, send);
    return () => {
      for (const name of ["pagehide", signOutEvent]) removeEventListener(name, send);
    };
  }, [send]);
}

/**
 * Undoes by the key U in every view, except while somebody types. Every other key of the page works only in its
 * section. This key works for 10 s only, and only undoes the decision.
 */
function useUndoKey(isPending: boolean, undo: () => void): void {
  useEffect(() => {
    if (!isPending) return undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyped =
        event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || isTyped) return;
      if (event.key.toLowerCase() !== "u") return;
      event.preventDefault();
      undo();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [isPending, undo]);
}

/** The pending decision, with its call and the seconds that are left. It stands below all else and moves nothing. */
function Bar({ pending, undo, send }: { pending: Pending; undo(): void; send(): void }) {
  const { call, decision, sendAt } = pending;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [pending]);
  return (
    <section class="card line spread pending" aria-label="Decision not sent yet">
      <span>
        <b>{decisions[decision].label}</b>: <CallLink call={call} />{" "}
        <span class="hint">
          Sent in {Math.max(0, Math.ceil((sendAt - now) / 1000))} s, unless you undo it
        </span>
      </span>
      <span class="line">
        <button type="button" onClick={undo}>
          Undo <kbd>U</kbd>
        </button>
        <button type="button" onClick={send}>
          Send now
        </button>
      </span>
    </section>
  );
}

/** The outcome of the decision that was sent last. */
function Became({ call, texts, close }: { call: CallView; texts: string; close(): void }) {
  useEffect(() => {
    const timer = setTimeout(close, becameMs);
    return () => clearTimeout(timer);
  }, [texts]);
  return (
    <section class="card line spread pending" aria-label="Last decision">
      <span>
        {texts} <CallLink call={call} />
      </span>
      <button type="button" onClick={close}>
        Close this note
      </button>
    </section>
  );
}

function CallLink({ call }: { call: CallView }) {
  return <a href={addressOf("calls", { call: call.id })}>{callName(call)}</a>;
}
