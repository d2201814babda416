import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";
import type { Me } from "../api/operator/me.ts";

type OperatorRole = Me["roles"][number];

/** Sends a request to the operator's API with the operator's token. */
export type Ask = <Answer>(path: string, body?: object) => Promise<Answer>;
/** Shows a message to people, and announces it to screen readers. */
export type Say = (words: string) => void;
/** Performs an action, shows its answer or its error, and reloads all data shown. */
export type Attempt = (work: () => Promise<string | undefined>) => void;

/** Tools of every view. */
export interface DeskTools {
  ask: Ask;
  say: Say;
  attempt: Attempt;
  /** Number of actions so far. Data are read again when it grows. */
  changes: number;
}

export const DeskContext = createContext<DeskTools | undefined>(undefined);

export function useDesk(): DeskTools {
  const desk = useContext(DeskContext);
  if (desk === undefined) throw new Error("a view is outside of the desk");
  return desk;
}

/** Data of the API. Before the first answer neither `data` nor `problem` is set. */
export interface Live<Data> {
  data: Data | undefined;
  /** Error of the last read. `data` may hold older data. */
  problem: string | undefined;
  reload(): void;
}

/**
 * Reads data, and again after every action and every `everyMs` while the page is visible.
 *
 * @param path undefined: nothing is read
 */
export function useLive<Data>(path: string | undefined, everyMs?: number): Live<Data> {
  const { ask, changes } = useDesk();
  const [read, setRead] = useState<{ path?: string; data?: Data; problem?: string }>({});
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    if (path === undefined) return undefined;
    let isCurrent = true;
    const load = async () => {
      try {
        const data = await ask<Data>(path);
        if (isCurrent) setRead({ path, data });
      } catch (error) {
        const problem = messageOf(error);
        if (isCurrent)
          setRead((before) => ({ ...(before.path === path ? before : { path }), problem }));
      }
    };
    void load();
    const timer =
      everyMs === undefined
        ? undefined
        : setInterval(() => {
            if (document.visibilityState === "visible") void load();
          }, everyMs);
    return () => {
      isCurrent = false;
      clearInterval(timer);
    };
  }, [ask, path, everyMs, changes, asked]);
  const reload = useCallback(() => setAsked((before) => before + 1), []);
  const { data, problem } = read.path === path ? read : {};
  return { data, problem, reload };
}

const RolesContext = createContext<readonly OperatorRole[]>([]);
/** Interval at which the token's roles are read, so that buttons appear after a failed read too. */
const rolesMs = 60_000;

/** Reads the roles of the operator's token for the views inside. Until they are known there are none. */
export function Roles({ children }: { children: ComponentChildren }) {
  const { data } = useLive<Me>("/me", rolesMs);
  return <RolesContext.Provider value={data?.roles ?? []}>{children}</RolesContext.Provider>;
}

/** Returns the roles of the operator's token. */
export function useRoles(): readonly OperatorRole[] {
  return useContext(RolesContext);
}

/** Shows what needs a role, such as a button, to those whose token has it. */
export function Needs({ role, children }: { role: OperatorRole; children: ComponentChildren }) {
  return <>{useRoles().includes(role) ? children : null}</>;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "That did not work.";
}

/** Shows that data are loading or could not be read, or their view. */
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
  const { data, problem, reload } = live;
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
      {data === undefined && problem === undefined ? <p class="hint">Loading …</p> : null}
      {data === undefined ? null : children(data)}
    </>
  );
}
