import * as calls from "#functions/dialer/consume/consume-calls.ts";
import * as events from "#functions/dialer/consume/consume-events.ts";
import * as letters from "#functions/dialer/consume/handle-stored-letters.ts";
import * as dispatcher from "#functions/dialer/dispatch/dispatcher.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { withOutbox, withPortLimits } from "#functions/dialer/runtime/time-limits.ts";
import * as sweeps from "#functions/dialer/sweep/sweep.ts";
import { measureSweep, traceEvents, traceMessages } from "#functions/dialer/traces/index.ts";
import type { TracedInvocation } from "#functions/dialer/traces/trace-invocation.ts";
import * as upkeeps from "#functions/dialer/sweep/upkeep.ts";

// The dialer's work by dependencies without time limits, which `createHandlers` puts around them.

/** Returns dependencies as `createHandlers` hands them on. */
export const readyDeps = (deps: DialerDeps): DialerDeps => withOutbox(withPortLimits(deps));

/**
 * Returns the dependencies of an invocation without an outbox, and what it does at its end, as `createHandlers` does if there
 * is a collector of traces: without waiting for a module, which would take real time in a simulated one.
 */
function beginInvocation(
  deps: DialerDeps,
  begin: typeof traceMessages,
): Pick<TracedInvocation, "deps" | "send"> {
  const limited = withPortLimits(deps);
  const { collector } = deps.settings;
  return collector === undefined
    ? { deps: limited, send: () => Promise.resolve() }
    : begin(limited, collector);
}

export const consumeCalls: typeof calls.consumeCalls = async (delivered, given, deadline) => {
  const { deps, send } = beginInvocation(given, traceMessages);
  const answers = await calls.consumeCalls(delivered, withOutbox(deps), deadline);
  await send();
  return answers;
};

export const consumeEvents: typeof events.consumeEvents = async (delivered, given, deadline) => {
  const { deps, send } = beginInvocation(given, traceEvents);
  const answers = await events.consumeEvents(delivered, deps, deadline);
  await send();
  return answers;
};

export const handleStoredLetters: typeof letters.handleStoredLetters = (deps, deadline) =>
  letters.handleStoredLetters(readyDeps(deps), deadline);

export const dispatch: typeof dispatcher.dispatch = (deps, deadline) =>
  dispatcher.dispatch(readyDeps(deps), deadline);

export const sweep: typeof sweeps.sweep = async (given, deadline) => {
  const { deps, send } = beginInvocation(given, measureSweep);
  await sweeps.sweep(withOutbox(deps), deadline);
  await send();
};

export const upkeep: typeof upkeeps.upkeep = (deps, deadline) =>
  upkeeps.upkeep(readyDeps(deps), deadline);
