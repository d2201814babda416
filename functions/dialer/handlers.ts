import type { Settings } from "../../shared/platform/settings.ts";
import type { AckOrRetry, Delivered } from "../../shared/queue/call-queue.ts";
import type { DialerDeps, DialerSettings } from "./context.ts";
import { handleDeadLetters, storeOrRetry } from "./dead-letters.ts";
import { handleMessages } from "./handle-messages.ts";
import { purge } from "./purge.ts";
import { acknowledgeDeadEvents, handleEvents } from "./handle-events.ts";
import { retryLater } from "./retry.ts";
import { sweep } from "./sweep.ts";

/** Handlers of what a platform invokes the dialer for. None throws; `deadline` is in milliseconds since the epoch. */
export interface Handlers {
  /** Handles a delivery of the call queue. */
  messages(delivered: readonly Delivered[], deadline: number): Promise<AckOrRetry[]>;
  /** Handles a delivery of the dead-letter queue. */
  deadLetters(delivered: readonly Delivered[]): Promise<AckOrRetry[]>;
  /** Handles a delivery of the events queue. */
  events(delivered: readonly Delivered[], deadline: number): Promise<AckOrRetry[]>;
  /** Handles a delivery of the events' dead-letter queue. */
  deadEvents(delivered: readonly Delivered[]): Promise<AckOrRetry[]>;
  sweep(deadline: number): Promise<void>;
  purge(deadline: number): Promise<void>;
}

/** Name of the handler of a queue. */
export type QueueHandler = Exclude<keyof Handlers, "sweep" | "purge">;

/** Returns which handler a queue has. The ends of the queues' names, and so of their ARNs, tell them apart. */
export function handlerFor(queueName: string): QueueHandler {
  if (queueName.endsWith("-events-dead")) return "deadEvents";
  if (queueName.endsWith("-events")) return "events";
  return queueName.endsWith("-dead") ? "deadLetters" : "messages";
}

/** Dependencies as an entry has them, before it knows that its settings are right. */
export type UncheckedDeps = Omit<DialerDeps, "settings"> & { settings: Settings<DialerSettings> };

/** Connects the core to its dependencies. Wrong settings dial nobody: every message goes back to its queue. */
export function createHandlers({ settings, ...others }: UncheckedDeps): Handlers {
  if ("problem" in settings) return unconfigured(settings.problem, others);
  const deps = { ...others, settings: settings.value };
  return {
    messages: (delivered, deadline) => handleMessages(delivered, deps, deadline),
    deadLetters: (delivered) => handleDeadLetters(delivered, deps),
    events: (delivered, deadline) => handleEvents(delivered, deps, deadline),
    deadEvents: async (delivered) => acknowledgeDeadEvents(delivered, deps),
    sweep: (deadline) => sweep(deps, deadline),
    purge: (deadline) => purge(deps, deadline),
  };
}

function unconfigured(problem: string, deps: Pick<DialerDeps, "deadLetters" | "log">): Handlers {
  const alarm = (count: number) => deps.log("alarm", "dialer.not_configured", { problem, count });
  const handBack: Handlers["messages"] = async (delivered) => {
    alarm(delivered.length);
    return delivered.map(({ attempt }) => retryLater(attempt));
  };
  return {
    messages: handBack,
    events: handBack,
    deadEvents: async (delivered) => acknowledgeDeadEvents(delivered, deps),
    async deadLetters(delivered) {
      alarm(delivered.length);
      return Promise.all(delivered.map((one) => storeOrRetry(one, deps)));
    },
    async sweep() {
      alarm(0);
    },
    async purge() {
      alarm(0);
    },
  };
}
