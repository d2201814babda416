import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { createPostForClient, type PostForClient } from "#shared/leads/ask-client-api.ts";
import { type Ask, ask as send, AskError } from "./client.ts";

/** Address of the page's own service. */
const origin = location.pathname.replace(/\/operator\/*$/, "");

/** Key of this tab's storage, which no other tab reads. */
const tokenKey = "outbound-calls-operator";
const refusal = "This is not an operator's token, or it is no longer valid.";

/** The work of one operator, from the sign-in to the sign-out. */
interface Work {
  token: string;
  /** True once the service has accepted a token of this work. */
  isAccepted: boolean;
  isOver: boolean;
  /** Requests that wait for another token, as the service refused the one they had. */
  waiting: { isAction: boolean; go(): void }[];
}

/** Returns what posts about a client's calls with the operator's token. */
export type PostFor = (client: string) => PostForClient;

/** Acts with the operator's token, and again with another one if the service refuses it. */
type WithToken = <Answer>(
  isAction: boolean,
  act: (token: string) => Promise<Answer>,
) => Promise<Answer>;

/** Requests that wait until the operator has signed in again. */
export interface Refused {
  /** Number of actions among them. */
  actions: number;
  /** Number of tokens that were refused. */
  tries: number;
}

export interface Session {
  /** True from the sign-in to the sign-out. */
  isOpen: boolean;
  ask: Ask;
  postFor: PostFor;
  /** Set while the service refuses the token of work that is open. */
  refused: Refused | undefined;
  enter(token: string): void;
  leave(): void;
}

function workWith(token: string): Work {
  return { token, isAccepted: false, isOver: false, waiting: [] };
}

/**
 * The operator's session in this tab. A token whose first read is refused ends the session. Later, requests wait for
 * another token, so that forms, decisions and views stay.
 *
 * @param say shows why the session has ended
 */
export function useSession(say: (texts: string) => void): Session {
  const work = useRef<Work>(null);
  work.current ??= workWith(sessionStorage.getItem(tokenKey) ?? "");
  const [isOpen, setIsOpen] = useState(work.current.token !== "");
  const [refused, setRefused] = useState<Refused>();
  const end = useCallback(
    (why: string) => {
      const { current } = work;
      sessionStorage.removeItem(tokenKey);
      work.current = workWith("");
      setIsOpen(false);
      setRefused(undefined);
      say(why);
      if (current === null) return;
      current.isOver = true;
      for (const { go } of current.waiting) go();
    },
    [say],
  );
  const withToken = useCallback<WithToken>(
    async (isAction, act) => {
      const mine = work.current ?? workWith("");
      // Each round but the first waits for a token that the operator enters.
      for (;;) {
        const { token } = mine;
        // The next operator's token must not execute the former operator's work.
        if (token === "") throw new AskError(401, "Signed out.");
        try {
          const answer = await act(token);
          if (mine.token === token) mine.isAccepted = true;
          if (mine === work.current && mine.waiting.length === 0) setRefused(undefined);
          return answer;
        } catch (error) {
          if (!(error instanceof AskError && error.status === 401) || mine.isOver) throw error;
          if (mine.token === token) {
            // An action's form would be lost; a read loses nothing.
            if (!mine.isAccepted && !isAction) end(refusal);
            else await anotherToken(mine, { isAction, setRefused });
          }
          if (mine.isOver) throw error;
        }
      }
    },
    [end],
  );
  const { ask, postFor } = useAsks(withToken);
  const enter = useCallback((token: string) => {
    const mine = work.current ?? workWith("");
    sessionStorage.setItem(tokenKey, token);
    mine.token = token;
    setIsOpen(true);
    for (const { go } of mine.waiting.splice(0)) go();
  }, []);
  const leave = useCallback(() => end("Signed out."), [end]);
  return useMemo(
    () => ({ isOpen, ask, postFor, refused, enter, leave }),
    [isOpen, ask, postFor, refused, enter, leave],
  );
}

/** Returns what asks and posts with the operator's token. */
function useAsks(withToken: WithToken): Pick<Session, "ask" | "postFor"> {
  const ask = useCallback<Ask>(
    (path, body) => withToken(body !== undefined, (token) => send<never>(token, path, body)),
    [withToken],
  );
  const postFor = useCallback<PostFor>(
    (client) => (path, body, headers) =>
      withToken(true, async (token) => {
        const answer = await createPostForClient({ origin, token, client })(path, body, headers);
        if (answer.status === 401) throw new AskError(401, refusal);
        return answer;
      }),
    [withToken],
  );
  return { ask, postFor };
}

/** Resolves once the operator has entered another token, or has signed out. */
function anotherToken(
  work: Work,
  {
    isAction,
    setRefused,
  }: {
    isAction: boolean;
    setRefused(change: (before: Refused | undefined) => Refused): void;
  },
): Promise<void> {
  const isFirst = work.waiting.length === 0;
  return new Promise((go) => {
    work.waiting.push({ isAction, go });
    const actions = work.waiting.filter((one) => one.isAction).length;
    setRefused((before) => ({
      actions,
      tries: (before?.tries ?? -1) + (isFirst ? 1 : 0),
    }));
  });
}
