import type { Settings } from "#shared/settings/settings.ts";
import type { AckOrRetry, Delivered } from "#shared/ports/queue.ts";
import type { Collector } from "#shared/traces/collector.ts";
import type { DialerDeps, DialerSettings } from "./runtime/context.ts";
import { withOutbox, withPortLimits } from "./runtime/time-limits.ts";
import { consumeCalls } from "./consume/consume-calls.ts";
import { retryLater } from "./runtime/retry-later.ts";

/** Handlers of the dialer's invocations. None throws. `deadline` is in milliseconds since the epoch. */
export interface Handlers {
  /** Handles a delivery of the call queue. */
  messages(delivered: readonly Delivered[], deadline: number): Promise<AckOrRetry[]>;
  /** Handles a delivery of the events queue. */
  events(delivered: readonly Delivered[], deadline: number): Promise<AckOrRetry[]>;
  /** Runs the loop that decides whose turn it is. */
  dispatch(deadline: number): Promise<void>;
  sweep(deadline: number): Promise<void>;
  /** Runs the upkeep: everything that walks through all rows and documents, some of it each minute. */
  upkeep(deadline: number): Promise<void>;
}

/** Name of the handler of a queue. */
export type QueueHandler = Exclude<keyof Handlers, "dispatch" | "sweep" | "upkeep">;

/** Returns the handler of a queue, by the end of the queue's name or ARN. */
export function handlerFor(queueName: string): QueueHandler {
  return queueName.endsWith("-events") ? "events" : "messages";
}

/** Dependencies from an entry, with unchecked settings. */
export type UncheckedDeps = Omit<DialerDeps, "settings"> & { settings: Settings<DialerSettings> };

const background = () => import("./background.ts");

/** Connects the core to its dependencies. With wrong settings nobody is dialed, and every message is retried. */
export function createHandlers({ settings, ...others }: UncheckedDeps): Handlers {
  if ("problem" in settings) return unconfigured(settings.problem, others);
  const limited = withPortLimits({ ...others, settings: settings.value });
  const { collector } = limited.settings;
  const handlers = handlersOf(limited);
  return collector === undefined
    ? handlers
    : { ...handlers, ...tracedHandlers(limited, collector) };
}

/** Handlers of invocations whose spans and metrics are sent once their work is done. They are loaded when first used. */
function tracedHandlers(
  deps: DialerDeps,
  collector: Collector,
): Pick<Handlers, "messages" | "events" | "sweep"> {
  async function trace<Result>(
    wrap: "traceMessages" | "traceEvents" | "measureSweep",
    run: (handlers: Handlers) => Promise<Result>,
  ): Promise<Result> {
    const { [wrap]: begin } = await import("./traces/index.ts");
    const traced = begin(deps, collector);
    const result = await run(handlersOf(traced.deps));
    await traced.send();
    return result;
  }
  return {
    messages: (...given) => trace("traceMessages", ({ messages }) => messages(...given)),
    events: (...given) => trace("traceEvents", ({ events }) => events(...given)),
    sweep: (...given) => trace("measureSweep", ({ sweep }) => sweep(...given)),
  };
}

function handlersOf(limited: DialerDeps): Handlers {
  const deps = withOutbox(limited);
  return {
    messages: (delivered, deadline) => consumeCalls(delivered, deps, deadline),
    async events(delivered, deadline) {
      const { consumeEvents } = await background();
      return consumeEvents(delivered, limited, deadline);
    },
    async dispatch(deadline) {
      const { dispatch } = await background();
      await dispatch(deps, deadline);
    },
    async sweep(deadline) {
      const { handleStoredLetters, sweep } = await background();
      await sweep(deps, deadline);
      await handleStoredLetters(deps, deadline);
    },
    async upkeep(deadline) {
      const { upkeep } = await background();
      await upkeep(deps, deadline);
    },
  };
}

function unconfigured(problem: string, deps: Pick<DialerDeps, "log">): Handlers {
  const alarm = (count: number) => deps.log("alarm", "dialer.not_configured", { problem, count });
  const handBack: Handlers["messages"] = async (delivered) => {
    alarm(delivered.length);
    return delivered.map(({ attempt }) => retryLater(attempt));
  };
  return {
    messages: handBack,
    events: handBack,
    async dispatch() {
      alarm(0);
    },
    async sweep() {
      alarm(0);
    },
    async upkeep() {
      alarm(0);
    },
  };
}
