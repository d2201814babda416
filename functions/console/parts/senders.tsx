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

/** Field to choose the client whose calls are placed, of those that may place calls of an agent. */
export function SenderField({
  senders = [],
  agent,
}: {
  senders: readonly Sender[] | undefined;
  /** Undefined: any agent. */
  agent?: string | undefined;
}) {
  const able = senders.filter(
    ({ agents }) => agent === undefined || agents.includes("*") || agents.includes(agent),
  );
  return (
    <label>
      Client
      <select name="client" required>
        {able.map(({ client, is_test }) => (
          <option key={client} value={client}>
            {is_test ? `${client} (phones nobody)` : client}
          </option>
        ))}
      </select>
    </label>
  );
}
