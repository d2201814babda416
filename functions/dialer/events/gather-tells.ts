import { tellsOf } from "../../../shared/ledger/telling-ledger.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import { withTimeLimit } from "../../../shared/platform/time-limit.ts";
import type { CallQueue } from "../../../shared/queue/call-queue.ts";
import type { EventMessage } from "../../../shared/queue/event-messages.ts";
import type { DialerDeps } from "../context.ts";

/** Maximum time that a message which has events told waits for others to the same receiver. */
const gatherMs = 1_000;
const sendSecondsMax = 5;

/** The events queue, as one delivery of it sends to it. */
export interface GatheredTells {
  queue: CallQueue<EventMessage>;
  /** Sends what has been gathered. Never throws: what is not sent is told by a sweep. */
  flush(): Promise<void>;
}

/**
 * Wraps the events queue so that the messages that have events told travel together. Callbacks come one by one, and each
 * would send a message of its own, which is paid for, and so is the permit that telling takes. Delayed messages, and
 * those of a sweep, are sent as they are.
 */
export function gatherTells({
  eventsQueue,
  clock,
  log,
}: Pick<DialerDeps, "eventsQueue" | "clock" | "log">): GatheredTells {
  let callsBy = new Map<string, string[]>();

  async function flush(): Promise<void> {
    const gathered = callsBy;
    callsBy = new Map();
    const now = clock.now();
    const messages = [...gathered].flatMap(([receiver, calls]) =>
      tellsOf(receiver, { calls }, now),
    );
    if (messages.length === 0) return;
    try {
      await withTimeLimit(eventsQueue.sendMany(messages), sendSecondsMax);
    } catch (error) {
      const count = [...gathered.values()].flat().length;
      log("warning", "events.not_sent", { count, error: errorForLog(error) });
    }
  }

  /** Keeps a message for later; false: it is to be sent now. */
  function isGathered({
    message,
    delaySeconds = 0,
  }: {
    message: EventMessage;
    delaySeconds?: number;
  }): boolean {
    const isOfCalls = message.kind === "tell" && !message.swept && message.requests.length === 0;
    if (!isOfCalls || delaySeconds > 0) return false;
    if (callsBy.size === 0) void clock.sleep(gatherMs).then(flush);
    const calls = callsBy.get(message.receiver) ?? [];
    callsBy.set(message.receiver, [...calls, ...message.calls]);
    return true;
  }

  return {
    queue: {
      send: (message, delaySeconds) => eventsQueue.send(message, delaySeconds),
      async sendMany(messages) {
        const others = messages.filter((one) => !isGathered(one));
        return others.length === 0 ? messages.length : eventsQueue.sendMany(others);
      },
    },
    flush,
  };
}
