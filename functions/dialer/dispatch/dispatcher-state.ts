import { claimLifeMs, requestEndsBy, slowMs } from "#shared/lib/timing.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import type { DialingCall } from "#shared/ports/ledger.ts";
import type { DecisionDeps, DialerDeps } from "../runtime/context.ts";
import { type AccountRecords, createAccountRecords } from "./account-records.ts";
import { type Allowances, createAllowances } from "./allowances.ts";
import { createDueRows, type DueRows } from "./due-rows.ts";
import { createInFlight, type InFlight } from "./in-flight.ts";
import { leads } from "#shared/rules/gates.ts";
import type { ResolvedRoute } from "#shared/rules/resolved-call.ts";
import { createSnapshot, type Snapshot } from "./snapshot.ts";
import { createWaits, type Waits } from "./waits.ts";

/** State that one dispatcher keeps between its ticks. */
export interface DispatcherState {
  /** Backlogs and the documents that control them. */
  snapshot: Snapshot;
  inFlight: InFlight;
  records: AccountRecords;
  dueRows: DueRows;
  allowances: Allowances;
  /**
   * Due rows at the heads of backlogs that may not go: closed rows, and those that cannot be read. The backlog that was read
   * last is the last one.
   */
  barred: Map<string, ReadonlySet<string>>;
  /** Times of the last polls of live calls, by account. */
  polledAt: Map<string, number>;
  /** Backlogs that wait though they need not. */
  waits: Waits;
  /** Time of the last tick that succeeded, in milliseconds since the epoch. */
  tickedAt: number | undefined;
  /** Accounts that may complete half of what they were allowed before the next tick, and have rows left. */
  quickAccounts: ReadonlySet<string>;
}

/** Returns the time that a call along a route may need before its request, in milliseconds. */
function leadMsOf(target: ResolvedRoute | undefined): number {
  return target === undefined ? 0 : Math.max(0, ...leads.map((lead) => lead(target)));
}

/** @param former the document that the former dispatcher has left */
export function createDispatcherState(
  former: Readonly<Pick<ValueOf<"dispatcher">, "accounts" | "waits" | "tickedAt">>,
  deps: DecisionDeps & Pick<DialerDeps, "ledger" | "consumers">,
): DispatcherState {
  const snapshot = createSnapshot(deps);
  const inFlight = createInFlight((key) => leadMsOf(snapshot.get(key)?.target));
  const records = createAccountRecords(former.accounts);
  for (const row of records.sentBefore()) inFlight.send(row);
  const isOver = (call: DialingCall) => deps.clock.now() > requestEndsAt(call, snapshot);
  const dueRows = createDueRows({ inFlight, documentOf: snapshot.documentOf, isOver }, deps);
  const allowances = createAllowances({ snapshot, inFlight, records, dueRows }, deps);
  return {
    snapshot,
    inFlight,
    records,
    dueRows,
    allowances,
    barred: new Map(),
    polledAt: new Map(),
    waits: createWaits(former.waits),
    tickedAt: former.tickedAt,
    quickAccounts: new Set(),
  };
}

/**
 * Returns the latest time at which the request of a call in progress has ended. The claim of a dead dialer stays for
 * minutes, until it expires and a sweep handles it. If such claims counted as in flight, as many as the account's
 * allowance would stop all its calls. If answers are quick, requests stop counting once they would be slow.
 */
function requestEndsAt(call: DialingCall, snapshot: Snapshot): number {
  const one = snapshot.get(backlogOf(call));
  if (one === undefined) return call.dueAt;
  const { timeoutSeconds } = one.target.account;
  const claimedAt = call.dueAt - claimLifeMs(timeoutSeconds);
  return requestEndsBy(claimedAt, one.isSlow ? timeoutSeconds * 1000 : slowMs);
}
