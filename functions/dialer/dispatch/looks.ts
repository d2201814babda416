import { claimAgeMsMax, claimLifeMs, slowMs } from "#shared/lib/timing.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import type { DialingCall } from "#shared/ports/ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { type AccountNotes, createAccountNotes } from "./account-notes.ts";
import { type Allowances, createAllowances } from "./allowances.ts";
import { createDueRows, type DueRows } from "./due-rows.ts";
import { createInFlight, type InFlight } from "./in-flight.ts";
import { leads } from "#shared/rules/gates.ts";
import type { ResolvedRoute } from "#shared/rules/resolved-call.ts";
import { createView, type View } from "./view.ts";
import { createWaits, type Waits } from "./waits.ts";

/** State that one dispatcher keeps between its looks. */
export interface Looks {
  /** Backlogs and the documents that control them. */
  view: View;
  inFlight: InFlight;
  notes: AccountNotes;
  dueRows: DueRows;
  allowances: Allowances;
  /** Number of closed rows at the heads of backlogs, at the last look. */
  closedAhead: ReadonlyMap<string, number>;
  /** Times of the last polls of live calls, by account. */
  polledAt: Map<string, number>;
  /** Backlogs that wait though they need not. */
  waits: Waits;
  /** Time of the last look that succeeded, in milliseconds since the epoch. */
  lookedAt: number | undefined;
  /** Accounts that may complete half of what they were allowed before the next look, and have rows left. */
  quickAccounts: ReadonlySet<string>;
}

/** Returns the time that a call along a route may need before its request, in milliseconds. */
function leadMsOf(target: ResolvedRoute | undefined): number {
  return target === undefined ? 0 : Math.max(0, ...leads.map((lead) => lead(target)));
}

/** @param former the document that the former dispatcher has left */
export function createLooks(
  former: Readonly<Pick<ValueOf<"dispatcher">, "accounts" | "waits" | "lookedAt">>,
  deps: DialerDeps,
): Looks {
  const view = createView(deps);
  const inFlight = createInFlight((key) => leadMsOf(view.get(key)?.target));
  const notes = createAccountNotes(former.accounts);
  for (const row of notes.sentBefore()) inFlight.send(row);
  const isOver = (call: DialingCall) => deps.clock.now() > requestEndsAt(call, view);
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
    waits: createWaits(former.waits),
    lookedAt: former.lookedAt,
    quickAccounts: new Set(),
  };
}

/**
 * Returns the latest time at which the request of a call under way has ended. The claim of a dead dialer stays for
 * minutes, until it lapses and a sweep expires it. If such claims counted as in flight, as many as the account's
 * allowance would stop all its calls. If answers are quick, requests stop counting once they would be slow.
 */
function requestEndsAt(call: DialingCall, view: View): number {
  const one = view.get(backlogOf(call));
  if (one === undefined) return call.dueAt;
  const { timeoutSeconds } = one.target.account;
  const claimedAt = call.dueAt - claimLifeMs(timeoutSeconds);
  return claimedAt + claimAgeMsMax + (one.isSlow ? timeoutSeconds * 1000 : slowMs);
}
