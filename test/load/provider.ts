import { randomInt } from "node:crypto";
import { startReceiver } from "../support/receiver.ts";

/** Longer than draining the queue and a restart take: at every kill some calls wait for this. */
const retryAfterSeconds = 20;
/** Response time for calls of `busy`, so that some are under way whenever a process is killed. */
const slowMs = 100;

/** Calls that the webhook's receiver got and accepted. */
export interface Receipts {
  /** Number of times that it accepted a call, by id. */
  times: Map<string, number>;
  /** Id under which each of the stream's calls arrived, by label. */
  ids: Map<string, string>;
  /** Labels of calls that also arrived under a second id. */
  underTwoIds: Set<string>;
  /** Ids that it first answered 429. */
  deferred: Set<string>;
}

/**
 * Starts the receiver of a webhook. It accepts a call within 20 to 40 ms. A call at `/busy` is accepted only
 * at its second arrival, and slowly.
 */
export async function startProvider() {
  const receipts: Receipts = {
    times: new Map(),
    ids: new Map(),
    underTwoIds: new Set(),
    deferred: new Set(),
  };
  const { times, ids, underTwoIds, deferred } = receipts;
  const receiver = await startReceiver(({ path, text, id }, response, received) => {
    received.length = 0; // whole requests would fill the memory of a long run
    const isBusy = path === "/busy";
    if (isBusy && !deferred.has(id)) {
      deferred.add(id);
      response.writeHead(429, { "retry-after": String(retryAfterSeconds) }).end();
      return;
    }
    const { context }: { context: { n: string } } = JSON.parse(text);
    const { n: label } = context;
    times.set(id, (times.get(id) ?? 0) + 1);
    if ((ids.get(label) ?? id) !== id) underTwoIds.add(label);
    ids.set(label, id);
    setTimeout(() => response.writeHead(200).end(), isBusy ? slowMs : 20 + randomInt(20));
  });
  /** Part of the dial plan: agents and the account that they share. */
  const plan = {
    agents: {
      busy: { provider: "webhook", url: `${receiver.url}/busy` },
      "*": { provider: "webhook", url: `${receiver.url}/dial` },
    },
    providers: { webhook: { timeoutSeconds: 5 } },
  };
  return { receipts, plan, close: () => receiver.close() };
}
