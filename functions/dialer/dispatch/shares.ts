import type { DuePosition } from "../../../shared/ports/ledger.ts";
import type { Route } from "../../../shared/calls/call-request.ts";
import { copyServed, createTurns, type Served } from "../../../shared/policy/turns.ts";
import type { StandsBy } from "../../../shared/calls/stands-by.ts";

/** The number of calls that may be dispatched now. */
export interface Allowance {
  count: number;
  /** The number that it would be with nothing in flight. */
  most: number;
  why: StandsBy | null;
  /** With a pace: the times of these calls' requests, in milliseconds since the epoch. */
  permitTimes?: readonly number[];
}

/** A backlog that may be served, with the account that today's plan sends its calls to. */
export interface Servable {
  key: string;
  account: string;
  route: Route;
}

/** A row whose turn it is. `permitAt`: the time of its request where the account has a pace. */
export interface Turn {
  row: DuePosition;
  backlog: string;
  account: string;
  permitAt: number | undefined;
}

/** The facts that the shares of one look depend on. */
export interface Shareable {
  allowAccount(account: string, route: Route): Allowance;
  allowBacklog(key: string): number;
  isSlow(key: string): boolean;
  servedBefore(account: string): Served;
  /** Slow rows that may be dispatched: of all accounts, and of one. */
  slowRoom: { all: number; of(account: string): number };
}

/** The state of an account at the end of a look. */
export interface AccountShare {
  allowance: number;
  most: number;
  served: Served;
  /** True if rows that might go had to be left. */
  isBusy: boolean;
  why: StandsBy | null;
}

interface Account {
  allowance: Allowance;
  served: Served;
  taken: number;
  slowLeft: number;
}

/** The allowances of one look, as far as they are used up. */
export interface Shares {
  facts: Shareable;
  accounts: Map<string, Account>;
  /** Rows that backlogs are still allowed by themselves, of those that were served. */
  backlogLeft: Map<string, number>;
  /** Slow rows that may still be dispatched. */
  slowLeft: number;
}

/** Begins to share the allowances of one look among backlogs, in turns. */
export function createShares(facts: Shareable): Shares {
  return { facts, accounts: new Map(), backlogLeft: new Map(), slowLeft: facts.slowRoom.all };
}

/** Returns how many rows of each backlog have to be read for the turns that are left. */
export function countNeeds(shares: Shares, candidates: readonly Servable[]): Map<string, number> {
  const needs = new Map<string, number>();
  for (const [account, own] of byAccount(shares, candidates)) {
    const left = leftOf(account);
    if (left <= 0) continue;
    const turns = createTurns<Servable>(copyServed(account.served));
    for (const one of own) if (leftIn(shares, one) > 0) turns.add(one.key, [one]);
    const chosen = new Map<string, Servable[]>();
    for (let count = 0; count < left; count++) {
      const turn = turns.next();
      if (turn === undefined) break;
      const backlogs = chosen.get(turn.client) ?? [];
      backlogs.push(turn.item);
      chosen.set(turn.client, backlogs);
    }
    // The turns go over clients first, so each client needs as many rows as the next, whatever agents it has.
    for (const backlogs of chosen.values()) {
      const each = Math.ceil(left / chosen.size / backlogs.length);
      for (const one of backlogs) needs.set(one.key, Math.min(each, leftIn(shares, one)));
    }
  }
  return needs;
}

/** Serves rows in turns, as far as the allowances go. */
export function serveTurns(
  shares: Shares,
  backlogs: readonly Servable[],
  rows: ReadonlyMap<string, readonly DuePosition[]>,
): Turn[] {
  const served: Turn[] = [];
  const withRows = backlogs.filter(({ key }) => (rows.get(key)?.length ?? 0) > 0);
  for (const [account, own] of byAccount(shares, withRows)) {
    const turns = createTurns<{ one: Servable; row: DuePosition }>(account.served);
    for (const one of own) {
      const some = (rows.get(one.key) ?? []).slice(0, leftIn(shares, one));
      const items = some.map((row) => ({ one, row }));
      turns.add(one.key, items);
    }
    while (leftOf(account) > 0) {
      const turn = turns.next();
      if (turn === undefined) break;
      const { one, row } = turn.item;
      if (leftIn(shares, one) <= 0) continue;
      const permitAt = account.allowance.permitTimes?.[account.taken];
      useTurn(shares, one);
      served.push({ row, backlog: one.key, account: one.account, permitAt });
    }
  }
  return served;
}

/**
 * Returns the state of each account after the turns.
 *
 * @param left backlogs with rows that are due and had to be left
 */
export function accountShares(
  shares: Shares,
  left: readonly Servable[],
): Map<string, AccountShare> {
  const waiting = Map.groupBy(left, ({ account }) => account);
  return new Map(
    [...shares.accounts].map(([name, account]) => {
      const own = waiting.get(name) ?? [];
      const isFull = leftOf(account) <= 0;
      const isHeldBySlow = own.every((one) => leftIn(shares, one) <= 0);
      const { count: allowance, most, why } = account.allowance;
      const isBusy = own.length > 0 && isFull;
      const standsBy = isFull ? why : isHeldBySlow ? "slow" : null;
      const { served } = account;
      return [name, { allowance, most, served, isBusy, why: own.length > 0 ? standsBy : null }];
    }),
  );
}

/** Groups backlogs by their account. */
function byAccount(shares: Shares, backlogs: readonly Servable[]): [Account, Servable[]][] {
  const groups = Map.groupBy(backlogs, ({ account }) => account);
  return [...groups.values()].flatMap((own) =>
    own[0] === undefined ? [] : [[accountIn(shares, own[0]), own]],
  );
}

/** Returns the account of a backlog, with its allowance as it is when the look first comes to it. */
function accountIn({ facts, accounts }: Shares, { account, route }: Servable): Account {
  const known = accounts.get(account);
  if (known !== undefined) return known;
  const made: Account = {
    allowance: facts.allowAccount(account, route),
    served: copyServed(facts.servedBefore(account)),
    taken: 0,
    slowLeft: facts.slowRoom.of(account),
  };
  accounts.set(account, made);
  return made;
}

function leftOf({ allowance, taken }: Account): number {
  return allowance.count - taken;
}

/** Returns how many rows of a backlog may still be dispatched, but for its account's allowance. */
function leftIn(shares: Shares, one: Servable): number {
  const { facts, backlogLeft, slowLeft } = shares;
  const left = backlogLeft.get(one.key) ?? facts.allowBacklog(one.key);
  return facts.isSlow(one.key) ? Math.min(left, accountIn(shares, one).slowLeft, slowLeft) : left;
}

/** Counts a row of a backlog that was served. */
function useTurn(shares: Shares, one: Servable): void {
  const { facts, backlogLeft } = shares;
  const account = accountIn(shares, one);
  account.taken += 1;
  backlogLeft.set(one.key, (backlogLeft.get(one.key) ?? facts.allowBacklog(one.key)) - 1);
  if (facts.isSlow(one.key)) {
    account.slowLeft -= 1;
    shares.slowLeft -= 1;
  }
}
