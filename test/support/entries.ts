import * as calls from "#functions/dialer/consume/consume-calls.ts";
import * as events from "#functions/dialer/consume/consume-events.ts";
import * as letters from "#functions/dialer/consume/handle-stored-letters.ts";
import * as dispatcher from "#functions/dialer/dispatch/dispatcher.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { withOutbox, withPortLimits } from "#functions/dialer/runtime/time-limits.ts";
import * as sweeps from "#functions/dialer/sweep/sweep.ts";
import * as upkeeps from "#functions/dialer/sweep/upkeep.ts";

// The dialer's work by dependencies without time limits, which `createHandlers` puts around them.

/** Returns dependencies as `createHandlers` hands them on. */
export const readyDeps = (deps: DialerDeps): DialerDeps => withOutbox(withPortLimits(deps));

export const consumeCalls: typeof calls.consumeCalls = (delivered, deps, deadline) =>
  calls.consumeCalls(delivered, readyDeps(deps), deadline);

export const consumeEvents: typeof events.consumeEvents = (delivered, deps, deadline) =>
  events.consumeEvents(delivered, withPortLimits(deps), deadline);

export const handleStoredLetters: typeof letters.handleStoredLetters = (deps, deadline) =>
  letters.handleStoredLetters(readyDeps(deps), deadline);

export const dispatch: typeof dispatcher.dispatch = (deps, deadline) =>
  dispatcher.dispatch(readyDeps(deps), deadline);

export const sweep: typeof sweeps.sweep = (deps, deadline) =>
  sweeps.sweep(readyDeps(deps), deadline);

export const upkeep: typeof upkeeps.upkeep = (deps, deadline) =>
  upkeeps.upkeep(readyDeps(deps), deadline);
