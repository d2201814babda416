import { randomInt } from "node:crypto";
import { startReceiver } from "../support/receiver.ts";

/** Longer than a drained queue and a restart take: whenever a process is killed, calls wait for this. */
const retryAfterSeconds = 20;
/** So long a call of `busy` is under way, so that some are whenever a process is killed. */
const slowMs = 100;

/** What the webhook's receiver was sent and took. */
export interface Receipts {
  /** How often it took a call, by id. */
  times: Map<string, number>;
  /** The id that each of the stream's calls came under, by label. */
  ids: Map<string, string>;
  /** Labels of calls that came under a second id too. */
  underTwoIds: Set<string>;
  /** Ids that it answered 429 at first. */
  putOff: Set<string>;
}

/**
 * The receiver of a webhook. It takes a call within 20 to 40 ms; one at `/busy` only the second time that it comes,
 * and is slow then.
 */
export async function startProvider() {
  const receipts: Receipts = {
    times: new Map(),
    ids: new Map(),
    underTwoIds: new Set(),
    putOff: new Set(),
  };
  const { times, ids, underTwoIds, putOff } = receipts;
  const receiver = await startReceiver(({ path, text, id }, response, received) => {
    received.length = 0; // whole requests would fill the memory of a long run
    const isBusy = path === "/busy";
    if (isBusy && !putOff.has(id)) {
      putOff.add(id);
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
  /** The dial plan's part: agents and the account that they share. */
  const plan = {
    agents: {
      busy: { provider: "webhook", url: `${receiver.url}/busy` },
      "*": { provider: "webhook", url: `${receiver.url}/dial` },
    },
    providers: { webhook: { timeoutSeconds: 5 } },
  };
  return { receipts, plan, close: () => receiver.close() };
}
