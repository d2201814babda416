import { polledFor } from "#shared/rules/gates.ts";
import type { DuePosition } from "#shared/ports/ledger.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { decidedMax, decideRows, writtenOffMax } from "./decide-rows.ts";
import type { DispatcherState } from "./dispatcher-state.ts";
import type { DispatchedRow } from "./send-dispatches.ts";
import { createServiceRoom, withinServiceRoom } from "./service-room.ts";
import { accountShares, countNeeds, createShares, mayServe, serveTurns } from "./shares.ts";
import type { Waiting } from "./snapshot.ts";

/** Maximum passes in which one tick finds rows. */
const passesMax = 2;

/** A row that a tick has chosen. */
export interface ChosenRow extends DispatchedRow {
  backlog: string;
}

/** The rows that a tick has chosen, and what it has learnt besides. */
export interface Chosen {
  rows: ChosenRow[];
  /** Rows that must not be dialed now, with their backlogs. */
  closed: ReadonlyMap<string, string>;
  /** True for accounts of which due rows were left. */
  busy: ReadonlyMap<string, boolean>;
  /**
   * Backlogs of which no row was chosen, though rows are due and the backlog and its account have an allowance.
   * Absent: nothing that was read shows that.
   */
  left?: readonly string[];
  /**
   * Accounts of which rows had to be left because other calls are in progress. The results of these calls are to be
   * polled.
   */
  full: readonly string[];
}

/** Choice if nothing may be dispatched. */
export const nothing: Chosen = { rows: [], closed: new Map(), busy: new Map(), full: [] };

/**
 * Chooses rows of some backlogs in turns, up to the allowances of accounts and backlogs. They count as in flight from
 * now on.
 *
 * @param decidesFirst true to leave out rows that must not be dialed now, by reading and deciding all of them
 */
export async function chooseRows(
  backlogs: readonly Waiting[],
  { state, decidesFirst }: { state: DispatcherState; decidesFirst: boolean },
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "dispatcher">,
): Promise<Chosen> {
  const { snapshot, inFlight, records, dueRows, allowances, barred } = state;
  const { clock, dispatcher } = deps;
  const serviceRoom = createServiceRoom(state, deps);
  const shares = createShares({
    serviceRoom,
    allowAccount: allowances.ofAccount,
    allowBacklog: allowances.ofBacklog,
    isSlow: (key) => snapshot.get(key)?.isSlow === true,
    servedBefore: records.servedBefore,
    slowRoom: allowances.slowRoom(),
  });
  const dueAmong = (some: readonly Waiting[], by: number) =>
    some.filter(({ backlog }) => dueRows.mayBeDue(backlog, by));
  // Not every account may find a slow place or be decided in a tick: the first are those that have waited longest.
  const inTurn = dueAmong(backlogs, clock.now()).toSorted(
    (one, other) => records.servedAt(one.account) - records.servedAt(other.account),
  );
  const served = withinServiceRoom(inTurn, { serviceRoom, dueRows }, deps);
  if (decidesFirst) keepOnly(barred, inTurn);
  let closed: ReadonlyMap<string, string> = new Map();
  const rows: ChosenRow[] = [];
  for (let pass = 0; pass < passesMax && rows.length < decidedMax; pass++) {
    const now = clock.now();
    const needs = withBarred(countNeeds(shares, dueAmong(served, now), barred.keys()), barred);
    const unknown = pass === 0 ? unknownHeads(backlogs, { needs, now, dueRows }) : [];
    if (needs.size + unknown.length === 0) break;
    const due = await dueRows.read(needs, unknown.slice(0, dispatcher.headsPerLook), now);
    const open = await (decidesFirst ? decideDue : leaveBarred)(due, { closed, state }, deps);
    closed = open.closed;
    for (const { account, backlog, row, permitAt } of serveTurns(shares, served, open.due)) {
      rows.push({
        id: row.id,
        account,
        backlog,
        permitAt,
        isSlow: snapshot.get(backlog)?.isSlow === true,
      });
      inFlight.send({ ...row, account, backlog, at: now });
      records.recordServed(account, now);
    }
    dueRows.seeAgain(); // the first undispatched row has changed
  }
  const result = accountShares(shares, dueAmong(backlogs, clock.now()));
  for (const [account, share] of result) records.recordShare(account, share);
  const busy = new Map([...result].map(([account, { isBusy }]) => [account, isBusy]));
  const full = [...result].flatMap(([account, { why }]) =>
    why !== null && polledFor.includes(why) ? account : [],
  );
  const seen = new Set([...rows.map(({ backlog }) => backlog), ...closed.values()]);
  const left = dueAmong(served, clock.now()).flatMap((one) => {
    const isLeft = !seen.has(one.key) && !dueRows.isUnknown(one.backlog, clock.now());
    return isLeft && mayServe(shares, one) ? one.key : [];
  });
  return { rows, closed, busy, full, ...(decidesFirst ? { left } : {}) };
}

/** Returns backlogs whose heads must be read, too, the most recently used first. */
export function unknownHeads(
  backlogs: readonly Waiting[],
  {
    needs,
    now,
    dueRows,
  }: { needs: ReadonlyMap<string, number>; now: number; dueRows: DispatcherState["dueRows"] },
): string[] {
  return backlogs
    .filter(({ key, backlog }) => !needs.has(key) && dueRows.isUnknown(backlog, now))
    .toSorted((one, other) => other.backlog.value.usedAt - one.backlog.value.usedAt)
    .map(({ key }) => key);
}

/** Forgets the rows at the heads of backlogs of which none is due any more. */
function keepOnly(barred: DispatcherState["barred"], due: readonly Waiting[]): void {
  const keys = new Set(due.map(({ key }) => key));
  for (const key of barred.keys()) if (!keys.has(key)) barred.delete(key);
}

/**
 * Adds rows to be read of backlogs with barred rows at their heads: twice as many as were there when they were last read, so
 * that calls to a zone that has closed do not block the calls behind them.
 */
function withBarred(
  needs: ReadonlyMap<string, number>,
  barred: DispatcherState["barred"],
): ReadonlyMap<string, number> {
  const behind = [...needs.keys()].filter((key) => barred.has(key));
  if (behind.length === 0) return needs;
  const needed = [...needs.values()].reduce((sum, count) => sum + count, 0);
  const most = Math.floor(Math.max(0, decidedMax - needed) / behind.length);
  return new Map(
    [...needs].map(([key, count]) => [
      key,
      count + Math.min(2 * (barred.get(key)?.size ?? 0), most, writtenOffMax),
    ]),
  );
}

type Due = ReadonlyMap<string, readonly DuePosition[]>;

/** Facts about due rows that are known before their decision. */
interface Look {
  closed: ReadonlyMap<string, string>;
  state: Pick<DispatcherState, "snapshot" | "barred">;
}

/** Leaves out due rows that the last tick which decided them has found barred. */
function leaveBarred(due: Due, { closed, state: { barred } }: Look) {
  const open = new Map(
    [...due].map(([key, rows]) => [key, rows.filter(({ id }) => !barred.get(key)?.has(id))]),
  );
  return { due: open, closed };
}

/**
 * Decides due rows, except those that this tick has already found closed, and notes which of each backlog are barred.
 *
 * @returns the rows that may be dialed now, and all closed rows with their backlogs
 */
async function decideDue(
  due: Due,
  { closed, state: { snapshot, barred } }: Look,
  deps: DecisionDeps & Pick<DialerDeps, "ledger">,
): Promise<{ due: Due; closed: Look["closed"] }> {
  const undecided = [...due]
    .flatMap(([key, rows]) => {
      const of = snapshot.get(key)?.backlog.value;
      return of === undefined ? [] : rows.flatMap(({ id }) => (closed.has(id) ? [] : { id, of }));
    })
    .slice(0, decidedMax);
  const decided = await decideRows(undecided, deps);
  const among = (ids: ReadonlySet<string>) =>
    [...due].map(([key, rows]) => [key, rows.filter(({ id }) => ids.has(id))] as const);
  const found = among(decided.closed).flatMap(([key, rows]) =>
    rows.map(({ id }) => [id, key] as const),
  );
  const asked = new Set([...closed.keys(), ...undecided.map(({ id }) => id)]);
  for (const [key, rows] of among(asked)) {
    const ids = rows.flatMap(({ id }) => (decided.open.has(id) ? [] : id));
    barred.delete(key); // it becomes the one that was read last
    if (ids.length > 0) barred.set(key, new Set(ids));
  }
  return { due: new Map(among(decided.open)), closed: new Map([...closed, ...found]) };
}
