import { backlogOfKey } from "#shared/calls/call-row.ts";
import type { DuePosition } from "#shared/ports/ledger.ts";
import type { ResolvedRoute, Service } from "#shared/rules/resolved-call.ts";
import { copyServed, createTurns, type Served } from "#shared/policy/turns.ts";

/** The number of calls that may be dispatched now. */
export interface Allowance {
  count: number;
  /** The number with nothing in flight. */
  most: number;
  /** Reason for which no more may go. */
  why: string | null;
  /** True if that is how fast the account takes calls, rather than a rule. */
  isBySpeed: boolean;
  /** Times of these calls' requests, in milliseconds since the epoch, if the account has a pace. */
  permitTimes?: readonly number[];
}

/** A backlog that may be served, with its account by today's plan. */
export interface Servable {
  key: string;
  /** Name of its client's and agent's allowance, which their urgent and other calls share. Absent: its own key. */
  allowanceKey?: string;
  account: string;
  target: ResolvedRoute;
}

/** A row whose turn it is. `permitAt`: time of its request, if the account has a pace. */
export interface Turn {
  row: DuePosition;
  backlog: string;
  account: string;
  permitAt: number | undefined;
}

/** Facts that the shares of one tick depend on. */
export interface Shareable {
  allowAccount(account: ResolvedRoute["account"]): Allowance;
  allowBacklog(key: string): number;
  isSlow(key: string): boolean;
  servedBefore(account: string): Served;
  /** Numbers of slow rows that may be dispatched, of all accounts and of one. */
  slowRoom: { all: number; of(account: string): number };
  /** Number of an account's rows that may be dispatched to wait for a service. */
  serviceRoom(account: string, service: Service): number;
}

/** The state of an account at the end of a tick. */
export interface AccountShare {
  allowance: number;
  most: number;
  served: Served;
  /** True if due rows were left that may go. */
  isBusy: boolean;
  /** Reason for which they wait. */
  why: string | null;
  /** True if they wait as the account takes calls no faster. */
  isBySpeed: boolean;
}

interface Account {
  allowance: Allowance;
  served: Served;
  taken: number;
  slowLeft: number;
  /** Rows that may still wait for each service. */
  serviceLeft: Map<string, number>;
}

/** The remaining allowances of one tick. */
export interface Shares {
  facts: Shareable;
  accounts: Map<string, Account>;
  /** Remaining allowances of the backlogs that were served. */
  backlogLeft: Map<string, number>;
  /** Slow rows that may still be dispatched. */
  slowLeft: number;
}

/** Creates the shares of one tick. */
export function createShares(facts: Shareable): Shares {
  return { facts, accounts: new Map(), backlogLeft: new Map(), slowLeft: facts.slowRoom.all };
}

/**
 * Returns how many rows of each backlog must be read for the remaining turns. Backlogs whose first rows may not go take no
 * place of others: as many of them are read besides, those first that were read longest ago.
 *
 * @param barred backlogs with such rows, in the order in which they were last read
 */
export function countNeeds(
  shares: Shares,
  candidates: readonly Servable[],
  barred: Iterable<string>,
): Map<string, number> {
  const readAt = new Map([...barred].map((key, index) => [key, index]));
  const placeOf = ({ key }: Servable) => readAt.get(key) ?? -1;
  const needs = new Map<string, number>();
  for (const [account, own] of byAccount(shares, candidates)) {
    const left = leftOf(account);
    if (left <= 0) continue;
    const open = own.filter((one) => leftIn(shares, one) > 0);
    const inTurn = chooseInTurn(
      open.filter((one) => placeOf(one) < 0),
      account,
    );
    const others = open
      .filter((one) => placeOf(one) >= 0)
      .toSorted((one, other) => placeOf(one) - placeOf(other))
      .slice(0, left);
    const need = (chosen: readonly Servable[], clients: number) => {
      // Turns go over clients first, so each client needs the same number of rows, however many agents it has.
      for (const backlogs of [...byClient(chosen).values()].flatMap(byLevel)) {
        const each = Math.ceil(left / clients / backlogs.length);
        for (const one of backlogs) needs.set(one.key, Math.min(each, leftIn(shares, one)));
      }
    };
    need(inTurn, byClient(inTurn).size);
    need(others, byClient([...inTurn, ...others]).size);
  }
  return needs;
}

/** Chooses as many backlogs in turn as calls of their account may go. */
function chooseInTurn(backlogs: readonly Servable[], account: Account): Servable[] {
  const turns = createTurns<Servable>(copyServed(account.served));
  for (const one of backlogs) turns.add(one.key, [one]);
  const chosen: Servable[] = [];
  while (chosen.length < leftOf(account)) {
    const turn = turns.next();
    if (turn === undefined) break;
    chosen.push(turn.item);
  }
  return chosen;
}

function byClient(backlogs: readonly Servable[]): Map<string, Servable[]> {
  return Map.groupBy(backlogs, ({ key }) => backlogOfKey(key).client);
}

/** Serves rows in turns, up to the allowances. */
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
 * @param left backlogs of which due rows were left
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
      const { count: allowance, most, why, isBySpeed } = account.allowance;
      const isBusy = own.length > 0 && isFull;
      const { served } = account;
      const slow = { why: isHeldBySlow ? "slow" : null, isBySpeed: isHeldBySlow };
      const waits = isFull ? { why, isBySpeed } : slow;
      const shown = own.length > 0 ? waits : { why: null, isBySpeed: false };
      return [name, { allowance, most, served, isBusy, ...shown }];
    }),
  );
}

/** Divides a client's backlogs into urgent ones and others, as each level may take all of the client's turns. */
function byLevel(backlogs: Servable[]): Servable[][] {
  return [...Map.groupBy(backlogs, isUrgent).values()];
}

function isUrgent({ key, allowanceKey = key }: Servable): boolean {
  return allowanceKey !== key;
}

/** Groups backlogs by their account. */
function byAccount(shares: Shares, backlogs: readonly Servable[]): [Account, Servable[]][] {
  const groups = Map.groupBy(backlogs, ({ account }) => account);
  return [...groups.values()].flatMap((own) =>
    own[0] === undefined ? [] : [[accountIn(shares, own[0]), own]],
  );
}

/** Returns the account of a backlog, with its allowance as of its first use in this tick. */
function accountIn({ facts, accounts }: Shares, { account, target }: Servable): Account {
  const known = accounts.get(account);
  if (known !== undefined) return known;
  const made: Account = {
    allowance: facts.allowAccount(target.account),
    served: copyServed(facts.servedBefore(account)),
    taken: 0,
    slowLeft: facts.slowRoom.of(account),
    serviceLeft: new Map(),
  };
  accounts.set(account, made);
  return made;
}

function leftOf({ allowance, taken }: Account): number {
  return allowance.count - taken;
}

/** Returns how many rows of a backlog may still be dispatched by its allowance, regardless of its account's. */
function leftIn(shares: Shares, one: Servable): number {
  const { facts, backlogLeft, slowLeft } = shares;
  const own = backlogLeft.get(one.allowanceKey ?? one.key) ?? facts.allowBacklog(one.key);
  const left = Math.min(
    own,
    ...one.target.services.map((service) => leftFor(service, one, shares)),
  );
  return facts.isSlow(one.key) ? Math.min(left, accountIn(shares, one).slowLeft, slowLeft) : left;
}

/** Returns how many rows of a backlog's account may still be dispatched to wait for a service. */
function leftFor(service: Service, one: Servable, shares: Shares): number {
  const { serviceLeft } = accountIn(shares, one);
  return serviceLeft.get(service.name) ?? shares.facts.serviceRoom(one.account, service);
}

/** True if more rows of a backlog might be dispatched, by its account's allowance and its own. */
export function mayServe(shares: Shares, one: Servable): boolean {
  return leftOf(accountIn(shares, one)) > 0 && leftIn(shares, one) > 0;
}

/** Counts a row of a backlog that was served. */
function useTurn(shares: Shares, one: Servable): void {
  const { facts, backlogLeft } = shares;
  const account = accountIn(shares, one);
  account.taken += 1;
  const { key, allowanceKey = key } = one;
  backlogLeft.set(allowanceKey, (backlogLeft.get(allowanceKey) ?? facts.allowBacklog(key)) - 1);
  for (const service of one.target.services) {
    account.serviceLeft.set(service.name, leftFor(service, one, shares) - 1);
  }
  if (facts.isSlow(one.key)) {
    account.slowLeft -= 1;
    shares.slowLeft -= 1;
  }
}
