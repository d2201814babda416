import type { ValueOf } from "#shared/ports/document-kinds.ts";
import type { Served } from "#shared/policy/turns.ts";
import { createAccountSpeeds, type SpeedSeen } from "./account-speeds.ts";
import type { InFlight, SentRow } from "./in-flight.ts";
import type { AccountShare } from "./shares.ts";

/** Maximum clients of an account whose agents' turns the next dispatcher gets. */
const servedMax = 200;
/** Maximum dispatched rows that the next dispatcher gets, of an account with a pace and of all. */
const sentOfAccountMax = 8;
const sentMax = 200;
/**
 * Maximum bytes of all accounts as JSON: an item of DynamoDB has at most 400 KB. Accounts with the most calls in flight
 * come first.
 */
const bytesMax = 250_000;
/** Minimum calls in flight of an account whose queue lags. */
const laggingMin = 5;

type Notes = ValueOf<"dispatcher">["accounts"];
type AccountEntry = Notes[string];
const noEntry: AccountEntry = {
  client: "",
  agents: {},
  completed: [],
  allowance: 0,
  why: null,
  sent: [],
};

/** Facts of each account that a dispatcher keeps between ticks and passes to the next dispatcher. */
export interface AccountRecords {
  names(): Iterable<string>;
  /** Calls completed by each of the last two ticks. */
  completedOf(account: string): readonly number[];
  servedBefore(account: string): Served;
  /** Maximum calls in flight of an account whose dispatches arrive late. */
  lagMaxOf(account: string): number | undefined;
  /** Maximum calls in flight at the account's last tick. */
  mostOf(account: string): number;
  /** Time of the account's last dispatched call; 0 if none is known. */
  servedAt(account: string): number;
  recordServed(account: string, at: number): void;
  recordCompleted(account: string, seen: SpeedSeen & { isLagging: boolean }): void;
  recordShare(account: string, share: AccountShare): void;
  /** Begins a tick: forgets why calls of accounts did not go. Accounts in `paused` have paused backlogs. */
  beginTick(paused: ReadonlySet<string>): void;
  /** The rows that the last dispatcher dispatched last. */
  sentBefore(): SentRow[];
  /** Returns everything that the next dispatcher gets. Accounts without calls are forgotten. */
  toDocument(inFlight: InFlight, accounts: HandedOver): Notes;
}

/** Accounts of which the next dispatcher gets more than of others. */
interface HandedOver {
  /** Accounts with a pace, of whose dispatched rows the next dispatcher must not plan the permits again. */
  paced: ReadonlySet<string>;
  /** Accounts with backlogs. Absent while not all backlogs are known. */
  waiting?: ReadonlySet<string> | undefined;
}

export function createAccountRecords(former: Readonly<Notes>): AccountRecords {
  const entries = new Map(Object.entries(former));
  const served = new Map<string, Served>();
  const mostOf = new Map<string, number>();
  const lagMax = new Map<string, number>();
  const speeds = createAccountSpeeds();
  const entryOf = (account: string): AccountEntry => entries.get(account) ?? noEntry;
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
    servedAt: (account) => entryOf(account).servedAt ?? 0,
    recordServed: (account, servedAt) => void change(account, { servedAt }),
    recordCompleted(account, { isLagging, ...seen }) {
      const { completed } = seen;
      const { completed: before, speed: last } = entryOf(account);
      const speed = speeds.after(account, last, seen);
      change(account, { completed: [...before.slice(-1), completed], ...(speed && { speed }) });
      const max = lagMaxAfter(lagMax.get(account), isLagging, mostOf.get(account) ?? 0);
      if (max === undefined) lagMax.delete(account);
      else lagMax.set(account, max);
    },
    recordShare(account, { allowance, most, why, isBySpeed, served: last }) {
      served.set(account, last);
      mostOf.set(account, most);
      if (isBySpeed) speeds.recordLimited(account);
      const agents = Object.fromEntries([...last.agents].slice(-servedMax));
      change(account, { client: last.client, agents, allowance, why });
    },
    beginTick(paused) {
      for (const account of entries.keys()) change(account, { why: null });
      for (const account of paused) change(account, { why: "paused" });
    },
    sentBefore: () =>
      Object.entries(former).flatMap(([account, { sent }]) =>
        sent.map((row) => ({ ...row, account })),
      ),
    toDocument(inFlight, { paced, waiting }) {
      const sent = [...inFlight.rows()].filter(({ account }) => paced.has(account));
      return withSentRows(
        withCalls(entries, inFlight, waiting),
        Map.groupBy(sent, ({ account }) => account),
      );
    },
  };
}

/** Returns the accounts with calls that wait, are in flight or were just completed, those in flight first. */
function withCalls(
  entries: ReadonlyMap<string, AccountEntry>,
  inFlight: InFlight,
  waiting: HandedOver["waiting"],
): [string, AccountEntry][] {
  const countOf = ([account]: readonly [string, unknown]) => inFlight.countOf(account);
  const isWaiting = (account: string) => waiting === undefined || waiting.has(account);
  return [...entries]
    .filter(
      (one) => isWaiting(one[0]) || countOf(one) > 0 || one[1].completed.some((count) => count > 0),
    )
    .toSorted((one, other) => countOf(other) - countOf(one));
}

/** Returns the facts of as many accounts as the document holds, with the last dispatched rows of each. */
function withSentRows(
  entries: readonly (readonly [string, AccountEntry])[],
  sent: ReadonlyMap<string, readonly SentRow[]>,
): Notes {
  let left = sentMax;
  let bytesLeft = bytesMax;
  return Object.fromEntries(
    entries.flatMap(([account, entry]) => {
      const rows = (sent.get(account) ?? []).slice(-sentOfAccountMax).slice(0, left);
      left -= rows.length;
      const kept = rows.map(({ id, dueAt, backlog, at }) => ({ id, dueAt, backlog, at }));
      const facts = { ...entry, sent: kept };
      bytesLeft -= Buffer.byteLength(JSON.stringify([account, facts]));
      return bytesLeft < 0 ? [] : [[account, facts]];
    }),
  );
}

/**
 * Returns the maximum calls in flight of an account whose queue lags: half of the last maximum. Once the queue no
 * longer lags, the maximum doubles at each tick until another limit applies.
 *
 * @param most the maximum in flight at the last tick
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
