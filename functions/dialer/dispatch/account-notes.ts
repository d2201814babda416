import type { ValueOf } from "../../../shared/ports/document-kinds.ts";
import type { Served } from "../../../shared/policy/turns.ts";
import type { InFlight, SentRow } from "./in-flight.ts";
import type { AccountShare } from "./shares.ts";

/** Clients of an account whose agents' turns outlive a dispatcher. */
const servedMax = 200;
/** Dispatched rows that outlive it, of an account with a pace and of all. */
const sentOfAccountMax = 8;
const sentMax = 200;
/** Calls of an account whose queue lags that are dispatched at least. */
const laggingMin = 5;

type Notes = ValueOf<"dispatcher">["accounts"];
type AccountEntry = Notes[string];

/** The facts of each account that a dispatcher keeps between its looks, and hands on to the next one. */
export interface AccountNotes {
  names(): Iterable<string>;
  /** Calls that were completed in each of the last two looks. */
  completedOf(account: string): readonly number[];
  servedBefore(account: string): Served;
  /** Maximum in flight of an account whose dispatches arrive late. */
  lagMaxOf(account: string): number | undefined;
  /** Calls that might be in flight at the last look at the account. */
  mostOf(account: string): number;
  noteCompleted(account: string, seen: { completed: number; isLagging: boolean }): void;
  noteShare(account: string, share: AccountShare): void;
  /** Forgets why accounts stood still at the last look. Those in `paused` have paused backlogs. */
  beginLook(paused: ReadonlySet<string>): void;
  /** The rows that the former dispatcher has handed out last. */
  sentBefore(): SentRow[];
  /**
   * Returns everything that the next dispatcher has to know.
   *
   * @param paced accounts with a pace: the permits of their dispatched rows must not be given out twice
   */
  toDocument(inFlight: InFlight, paced: ReadonlySet<string>): Notes;
}

export function createAccountNotes(former: Readonly<Notes>): AccountNotes {
  const entries = new Map(Object.entries(former));
  const served = new Map<string, Served>();
  const mostOf = new Map<string, number>();
  const lagMax = new Map<string, number>();
  const entryOf = (account: string): AccountEntry =>
    entries.get(account) ?? {
      client: "",
      agents: {},
      completed: [],
      allowance: 0,
      why: null,
      sent: [],
    };
  const change = (account: string, changes: Partial<AccountEntry>) =>
    entries.set(account, { ...entryOf(account), ...changes });
  return {
    names: () => entries.keys(),
    completedOf: (account) => entryOf(account).completed,
    servedBefore(account) {
      const { client, agents } = entryOf(account);
      return served.get(account) ?? { client, agents: new Map(Object.entries(agents)) };
    },
    lagMaxOf: (account) => lagMax.get(account),
    mostOf: (account) => mostOf.get(account) ?? 0,
    noteCompleted(account, { completed, isLagging }) {
      change(account, { completed: [...entryOf(account).completed.slice(-1), completed] });
      const max = lagMaxAfter(lagMax.get(account), isLagging, mostOf.get(account) ?? 0);
      if (max === undefined) lagMax.delete(account);
      else lagMax.set(account, max);
    },
    noteShare(account, { allowance, most, why, served: last }) {
      served.set(account, last);
      mostOf.set(account, most);
      const agents = Object.fromEntries([...last.agents].slice(-servedMax));
      change(account, { client: last.client, agents, allowance, why });
    },
    beginLook(paused) {
      for (const account of entries.keys()) change(account, { why: null });
      for (const account of paused) change(account, { why: "paused" });
    },
    sentBefore: () =>
      Object.entries(former).flatMap(([account, { sent }]) =>
        sent.map((row) => ({ ...row, account })),
      ),
    toDocument(inFlight, paced) {
      const sent = [...inFlight.rows()].filter(({ account }) => paced.has(account));
      return withSentRows(
        entries,
        Map.groupBy(sent, ({ account }) => account),
      );
    },
  };
}

/** Returns what is known of accounts, with the rows that were dispatched last of each. */
function withSentRows(
  entries: ReadonlyMap<string, AccountEntry>,
  sent: ReadonlyMap<string, readonly SentRow[]>,
): Notes {
  let left = sentMax;
  return Object.fromEntries(
    [...entries].map(([account, entry]) => {
      const rows = (sent.get(account) ?? []).slice(-sentOfAccountMax).slice(0, left);
      left -= rows.length;
      const kept = rows.map(({ id, dueAt, backlog, at }) => ({ id, dueAt, backlog, at }));
      return [account, { ...entry, sent: kept }];
    }),
  );
}

/**
 * Returns the maximum in flight of an account whose queue lags: half as many as before, and twice as many once it does not,
 * until something else bounds it.
 *
 * @param most the maximum in flight at the last look
 */
export function lagMaxAfter(
  before: number | undefined,
  isLagging: boolean,
  most: number,
): number | undefined {
  if (isLagging) return Math.max(laggingMin, Math.floor((before ?? most) / 2));
  const doubled = before === undefined ? Infinity : before * 2;
  return doubled > most * 2 ? undefined : doubled;
}
