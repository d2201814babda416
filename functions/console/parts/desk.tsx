import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useMemo, useState } from "preact/hooks";
import type { Me } from "#shared/answers/answers.ts";
import type { View } from "../data/address.ts";
import { type Ask, messageOf } from "../data/client.ts";
import {
  type Asked,
  createLiveStore,
  keyOf,
  type LiveStore,
  type Reading,
  refreshMs,
} from "../data/live-store.ts";
import type { Message } from "./messages.tsx";
import type { PostFor, Session } from "../data/session.ts";
import { Skeleton, Time } from "./shared.tsx";

type OperatorRole = Me["roles"][number];

export { type Ask, messageOf };

/** Shows a message of this view to people, and announces it to screen readers. */
type Say = (texts: string) => void;
/** Performs an action, shows its answer or its error, and reloads all data shown. */
type Attempt = (work: () => Promise<string | undefined>) => void;

/** Tools of every view. */
export interface DeskTools {
  ask: Ask;
  postFor: PostFor;
  say: Say;
  attempt: Attempt;
  /** Number of actions so far. Data are read again when it grows. */
  changes: number;
  live: LiveStore;
}

export const DeskContext = createContext<DeskTools | undefined>(undefined);

export function useDesk(): DeskTools {
  const desk = useContext(DeskContext);
  if (desk === undefined) throw new Error("a view is outside of the desk");
  return desk;
}

/** Returns the tools of a view. Its messages are shown as those of this view, also after another one was opened. */
export function useTools(
  { ask, postFor }: Pick<Session, "ask" | "postFor">,
  { view, show }: { view: View; show(of: Message): void },
): DeskTools {
  const [changes, setChanges] = useState(0);
  const live = useMemo(() => createLiveStore(ask), [ask]);
  const say = useCallback<Say>((texts) => show({ texts, of: view }), [show, view]);
  const attempt = useCallback<Attempt>(
    (work) => {
      const perform = async () => {
        try {
          const done = await work();
          if (done !== undefined) say(done);
        } catch (error) {
          show({ texts: messageOf(error), of: view, isError: true });
        }
        setChanges((before) => before + 1);
        live.renew();
      };
      void perform();
    },
    [say, show, view, live],
  );
  useEffect(() => {
    const renew = () => {
      if (document.visibilityState === "visible") live.renew();
    };
    addEventListener("online", renew);
    document.addEventListener("visibilitychange", renew);
    return () => {
      removeEventListener("online", renew);
      document.removeEventListener("visibilitychange", renew);
    };
  }, [live]);
  return useMemo(
    () => ({ ask, postFor, say, attempt, changes, live }),
    [ask, postFor, say, attempt, changes, live],
  );
}

/** Data of the API. Before the first answer neither `data` nor `problem` is set. */
export interface Live<Data> {
  data: Data | undefined;
  /** Error of the last read. `data` may hold older data. */
  problem: string | undefined;
  /** Time of the data, if they are older than they should be or could not be read again. */
  asOf: number | undefined;
  reload(): void;
}

/**
 * Reads data, and again after every action and every `everyMs` while the page is visible, and when it comes into sight
 * or the browser comes online.
 *
 * @param asked a path, or a path to which a search is posted; undefined: nothing is read
 */
export function useLive<Data>(asked: Asked | undefined, everyMs = refreshMs): Live<Data> {
  const { live } = useDesk();
  const key = keyOf(asked);
  const [read, setRead] = useState<{ key?: string | undefined; reading?: Reading }>({});
  useEffect(() => {
    if (asked === undefined) return undefined;
    return live.watch(asked, { everyMs, changed: (reading) => setRead({ key, reading }) });
  }, [live, key, everyMs]);
  const reload = useCallback(() => {
    if (asked !== undefined) live.reload(asked);
  }, [live, key]);
  const { data, problem, readAt, isOld = false } = (read.key === key ? read.reading : {}) ?? {};
  const asOf = isOld || problem !== undefined ? readAt : undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API answers as its routes declare
  return { data: data as Data | undefined, problem, asOf, reload };
}

const RolesContext = createContext<readonly OperatorRole[]>([]);
/** Interval at which the token's roles are read, so that buttons appear after a failed read too. */
export const rolesMs = 60_000;

/** Reads the roles of the operator's token for the views inside. Until they are known there are none. */
export function Roles({ children }: { children: ComponentChildren }) {
  const { data, problem, reload } = useLive<Me>("/me", rolesMs);
  return (
    <RolesContext.Provider value={data?.roles ?? []}>
      {data === undefined && problem !== undefined ? (
        <p class="problem">
          Buttons are missing, as the token's roles could not be read: {problem}{" "}
          <button type="button" onClick={reload}>
            Try again
          </button>
        </p>
      ) : null}
      {children}
    </RolesContext.Provider>
  );
}

/** Returns the roles of the operator's token. */
export function useRoles(): readonly OperatorRole[] {
  return useContext(RolesContext);
}

/** Shows what needs a role, such as a button, to those whose token has it. */
export function WithRole({ role, children }: { role: OperatorRole; children: ComponentChildren }) {
  return <>{useRoles().includes(role) ? children : null}</>;
}

/** Shows that data are loading, could not be read or are old, or their view. */
export function Shown<Data>({
  live,
  what,
  children,
}: {
  live: Live<Data>;
  /** Name of the data, such as `The requests`. */
  what: string;
  children: (data: Data) => ComponentChildren;
}) {
  const { data, problem, asOf, reload } = live;
  return (
    <>
      {problem === undefined ? null : (
        <p class="problem">
          {what} could not be read: {problem}{" "}
          <button type="button" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {asOf === undefined ? null : (
        <p class="hint">
          As of <Time at={new Date(asOf).toISOString()} />.
        </p>
      )}
      {data === undefined && problem === undefined ? <Skeleton /> : null}
      {data === undefined ? null : children(data)}
    </>
  );
}
