import type { ValueOf } from "../../../shared/ports/document-kinds.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import { claimAgeMsMax, claimLifeMs } from "../../../shared/calls/transitions.ts";
import { accountOf } from "../../../shared/dial-plan/dial-plan.ts";
import type { DialingCall } from "../../../shared/ports/ledger.ts";
import { slowMs } from "../runtime/time-limits.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { type AccountNotes, createAccountNotes } from "./account-notes.ts";
import { type Allowances, createAllowances } from "./allowances.ts";
import { createDueRows, type DueRows } from "./due-rows.ts";
import { createInFlight, type InFlight } from "./in-flight.ts";
import { createView, type View } from "./view.ts";

/** State that one dispatcher keeps between its looks. */
export interface Looks {
  /** Backlogs and the documents that bear on them. */
  view: View;
  inFlight: InFlight;
  notes: AccountNotes;
  dueRows: DueRows;
  allowances: Allowances;
  /** Number of rows at the heads of backlogs that could not be dialed, at the last look. */
  closedAhead: ReadonlyMap<string, number>;
  /** Times at which live calls were polled last, of accounts that had as many as they may have. */
  polledAt: Map<string, number>;
  /** Accounts that may complete half of what they were allowed before the next look, and have rows left. */
  quickAccounts: ReadonlySet<string>;
}

/** @param former the facts of each account that the former dispatcher has left */
export function createLooks(
  former: Readonly<ValueOf<"dispatcher">["accounts"]>,
  deps: DialerDeps,
): Looks {
  const view = createView(deps);
  const inFlight = createInFlight();
  const notes = createAccountNotes(former);
  for (const row of notes.sentBefore()) inFlight.send(row);
  const isOver = (call: DialingCall) => deps.clock.now() > requestEndsAt(call, view, deps);
  const dueRows = createDueRows({ inFlight, documentOf: view.documentOf, isOver }, deps);
  const allowances = createAllowances({ view, inFlight, notes, dueRows }, deps);
  return {
    view,
    inFlight,
    notes,
    dueRows,
    allowances,
    closedAhead: new Map(),
    polledAt: new Map(),
    quickAccounts: new Set(),
  };
}

/**
 * Returns the latest time at which the request of a call under way has ended. A dialer that died leaves its claim until it
 * lapses and a sweep sees it, which is minutes: as many of these as an account is allowed would stop all its calls. Where
 * answers are quick, a request is given up as soon as it would count as slow.
 */
function requestEndsAt(call: DialingCall, view: View, { settings }: DialerDeps): number {
  const one = view.get(backlogOf(call));
  if (one === undefined) return call.dueAt;
  const { timeoutSeconds } = accountOf(one.route, settings.plan);
  const claimedAt = call.dueAt - claimLifeMs(timeoutSeconds);
  return claimedAt + claimAgeMsMax + (one.isSlow ? timeoutSeconds * 1000 : slowMs);
}
