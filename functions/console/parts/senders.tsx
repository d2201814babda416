import type { Senders } from "#shared/answers/answers.ts";
import type { PostForClient, SendingDeps } from "#shared/leads/ask-client-api.ts";
import { useLive } from "./desk.tsx";

/** A client that may place calls. */
export type Sender = Senders["clients"][number];

/** Time after which the clients are read again. */
const sendersMs = 5 * 60_000;

/** Returns the clients that may place calls; undefined until they are read. */
export function useSenders(): readonly Sender[] | undefined {
  return useLive<Senders>("/senders", sendersMs).data?.clients;
}

/** Returns what sends leads by these posts. */
export function sendingTo(post: PostForClient, checkStopped?: () => void): SendingDeps {
  return {
    post,
    sleep: (ms) => new Promise((passed) => setTimeout(passed, ms)),
    ...(checkStopped && { checkStopped }),
  };
}
