import type { ValueOf } from "../../../shared/ports/document-kinds.ts";
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
  const dueRows = createDueRows({ inFlight, documentOf: view.documentOf }, deps);
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
