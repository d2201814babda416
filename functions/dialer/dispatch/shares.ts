import type { DuePosition } from "../../../shared/ports/ledger.ts";
import type { Route } from "../../../shared/calls/route.ts";
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

/** A row whose turn it is. `moment`: the time of its request where the account has a pace. */
export interface Turn {
  row: DuePosition;
  backlog: string;
  account: string;
  permitAt: number | undefined;
}

/** The facts that the shares of one look depend on. */
export interface Shareable {
  allowanceOfAccount(account: string, route: Route): Allowance;
  allowanceOfBacklog(key: string): number;
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

/** Shares the allowances of one look among backlogs, in turns. */
export function createShares(shareable: Shareable) {
  const accounts = new Map<string, Account>();
  const backlogLeft = new Map<string, number>();
  let slowLeft = shareable.slowRoom.all;

  const accountOf = ({ account, route }: Servable): Account => {
    const known = accounts.get(account);
    if (known !== undefined) return known;
    const made: Account = {
      allowance: shareable.allowanceOfAccount(account, route),
      served: copyServed(shareable.servedBefore(account)),
      taken: 0,
      slowLeft: shareable.slowRoom.of(account),
    };
    accounts.set(account, made);
    return made;
  };
  const leftOf = ({ allowance, taken }: Account) => allowance.count - taken;
  const leftIn = (one: Servable): number => {
    const left = backlogLeft.get(one.key) ?? shareable.allowanceOfBacklog(one.key);
    return shareable.isSlow(one.key) ? Math.min(left, accountOf(one).slowLeft, slowLeft) : left;
  };

  return {
    /** Returns how many rows of each backlog have to be read for the turns that are left. */
    needs(candidates: readonly Servable[]): Map<string, number> {
      const needs = new Map<string, number>();
      for (const own of Map.groupBy(candidates, ({ account }) => account).values()) {
        const [first] = own;
        if (first === undefined) continue;
        const account = accountOf(first);
        const left = leftOf(account);
        if (left <= 0) continue;
        const turns = createTurns<Servable>(copyServed(account.served));
        for (const one of own) if (leftIn(one) > 0) turns.add(one.key, [one]);
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
          for (const one of backlogs) needs.set(one.key, Math.min(each, leftIn(one)));
        }
      }
      return needs;
    },
    /** Serves rows in turns, as far as the allowances go. */
    serve(
      servables: readonly Servable[],
      rows: ReadonlyMap<string, readonly DuePosition[]>,
    ): Turn[] {
      const served: Turn[] = [];
      const withRows = servables.filter(({ key }) => (rows.get(key)?.length ?? 0) > 0);
      for (const own of Map.groupBy(withRows, ({ account }) => account).values()) {
        const [first] = own;
        if (first === undefined) continue;
        const account = accountOf(first);
        const turns = createTurns<{ one: Servable; row: DuePosition }>(account.served);
        for (const one of own) {
          const items = (rows.get(one.key) ?? []).slice(0, leftIn(one));
          turns.add(
            one.key,
            items.map((row) => ({ one, row })),
          );
        }
        while (leftOf(account) > 0) {
          const turn = turns.next();
          if (turn === undefined) break;
          const { one, row } = turn.item;
          const left = leftIn(one);
          if (left <= 0) continue;
          backlogLeft.set(
            one.key,
            (backlogLeft.get(one.key) ?? shareable.allowanceOfBacklog(one.key)) - 1,
          );
          if (shareable.isSlow(one.key)) {
            account.slowLeft -= 1;
            slowLeft -= 1;
          }
          const permitAt = account.allowance.permitTimes?.[account.taken];
          account.taken += 1;
          served.push({ row, backlog: one.key, account: one.account, permitAt });
        }
      }
      return served;
    },
    hasRoom: () => [...accounts.values()].some((account) => leftOf(account) > 0),
    /**
     * Returns the state of each account.
     *
     * @param left backlogs with rows that are due and had to be left
     */
    result(left: readonly Servable[]): Map<string, AccountShare> {
      const waiting = Map.groupBy(left, ({ account }) => account);
      return new Map(
        [...accounts].map(([name, account]) => {
          const own = waiting.get(name) ?? [];
          const isFull = leftOf(account) <= 0;
          const isLedgerSuspended = own.length > 0 && own.every((one) => leftIn(one) <= 0);
          const { count, most, why } = account.allowance;
          return [
            name,
            {
              allowance: count,
              most,
              served: account.served,
              isBusy: own.length > 0 && isFull,
              why: own.length === 0 ? null : isFull ? why : isLedgerSuspended ? "slow" : null,
            },
          ];
        }),
      );
    },
  };
}
