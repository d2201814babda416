import { backlogOf } from "../../../shared/calls/call-row.ts";
import {
  comparePositions,
  type DialingCall,
  type DuePosition,
} from "../../../shared/ports/ledger.ts";

/** A row that was dispatched and still stands WAITING. */
export interface SentRow extends DuePosition {
  account: string;
  backlog: string;
  /** Time at which it was dispatched. */
  at: number;
}

/** A page of a backlog's rows from its beginning. `isCut`: more follow. */
export interface BacklogPage {
  rows: readonly DuePosition[];
  isCut: boolean;
}

/** Time after which a dispatched row that still stands is dispatched again: its dispatch is lost, or the queue lags. */
const sentMsMax = 10_000;
/** Time after which rows of a message count as left by their delivery, if others of it were handled and none is under way. */
const leftMs = 1_000;

/** Counts of calls by name. */
type Counts = ReadonlyMap<string, number>;

/** The calls in flight: dispatched and still WAITING, or DIALING. */
export interface InFlight {
  /** Takes over the calls under way as they are now. What has left counts as completed. */
  seeDialing(calls: readonly DialingCall[]): void;
  /** Takes over a page of a backlog: dispatched rows that it no longer has are completed or under way. */
  seeBacklog(backlog: string, page: BacklogPage, now: number): void;
  send(row: SentRow): void;
  /** Notes that rows travel in one message. */
  sendTogether(ids: readonly string[]): void;
  /** Forgets rows that the queue has not taken. Returns their backlogs. */
  forget(ids: readonly string[]): string[];
  /** Forgets rows of a backlog that were dispatched until `until`. Returns true if there were any. */
  forgetSent(backlog: string, until: number): boolean;
  /** Forgets rows that their delivery has left as they are. Returns their backlogs. */
  forgetLeft(now: number): string[];
  isSent(id: string): boolean;
  /** Backlogs with dispatched rows that still stand, and how many. */
  sentIn(): Counts;
  /** Dispatched rows of an account that still stand. */
  sentOf(account: string): number;
  /** The dispatched rows that still stand, those dispatched last at the end. */
  rows(): Iterable<SentRow>;
  /** Calls of an account under way whose claims lapse after `lapseAt`: the young ones. */
  dialingOf(account: string, lapseAt: number): number;
  /** All calls in flight. */
  countOf(account: string): number;
  countIn(backlog: string): number;
  /** Returns what an account has completed since the last time, and whether its dispatches arrive late. */
  takeCompleted(account: string): { completed: number; isLagging: boolean };
}

interface Dialing {
  account: string;
  backlog: string;
  dueAt: number;
  message: number | undefined;
}

export function createInFlight(): InFlight {
  const sent = new Map<string, SentRow & { message?: number }>();
  let dialing = new Map<string, Dialing>();
  const completed = new Map<string, number>();
  const lagging = new Set<string>();
  const sentBy = { account: new Map<string, number>(), backlog: new Map<string, number>() };
  let dialingBy = { account: new Map<string, number>(), backlog: new Map<string, number>() };
  let messages = 0;
  /** Messages whose deliveries have handled rows. */
  let begun = new Set<number>();
  const add = (counts: Map<string, number>, name: string, by: number) => {
    const count = (counts.get(name) ?? 0) + by;
    if (count === 0) counts.delete(name);
    else counts.set(name, count);
  };
  const remove = (id: string): SentRow | undefined => {
    const row = sent.get(id);
    if (row === undefined) return undefined;
    sent.delete(id);
    add(sentBy.account, row.account, -1);
    add(sentBy.backlog, row.backlog, -1);
    return row;
  };
  const removeAll = (ids: readonly string[]) => [
    ...new Set(ids.flatMap((id) => remove(id)?.backlog ?? [])),
  ];
  return {
    seeDialing(calls) {
      const now = new Map(
        calls.map((call) => {
          const message = sent.get(call.id)?.message ?? dialing.get(call.id)?.message;
          return [call.id, { ...call, backlog: backlogOf(call), message }] as const;
        }),
      );
      for (const [id, { account }] of dialing) {
        if (!now.has(id) && !sent.has(id)) add(completed, account, 1);
      }
      dialing = now;
      dialingBy = { account: new Map(), backlog: new Map() };
      for (const [id, { account, backlog, message }] of now) {
        if (message !== undefined) begun.add(message);
        remove(id);
        add(dialingBy.account, account, 1);
        add(dialingBy.backlog, backlog, 1);
      }
    },
    seeBacklog(backlog, { rows, isCut }, now) {
      const current = new Map(rows.map(({ id, dueAt }) => [id, dueAt]));
      const last = rows.at(-1);
      for (const [id, row] of sent) {
        if (row.backlog !== backlog) continue;
        const dueAt = current.get(id);
        const isRead = !isCut || (last !== undefined && comparePositions(row, last) <= 0);
        if (dueAt === undefined ? isRead : dueAt > now) {
          if (row.message !== undefined) begun.add(row.message);
          remove(id);
          add(completed, row.account, 1);
        } else if (now - row.at > sentMsMax) {
          remove(id);
          lagging.add(row.account);
        }
      }
    },
    send(row) {
      remove(row.id);
      sent.set(row.id, row);
      add(sentBy.account, row.account, 1);
      add(sentBy.backlog, row.backlog, 1);
    },
    sendTogether(ids) {
      messages += 1;
      for (const id of ids) {
        const row = sent.get(id);
        if (row !== undefined) row.message = messages;
      }
    },
    forget: removeAll,
    forgetSent(backlog, until) {
      const early = [...sent].filter(([, row]) => row.backlog === backlog && row.at <= until);
      return removeAll(early.map(([id]) => id)).length > 0;
    },
    forgetLeft(now) {
      const underWay = new Set([...dialing.values()].map(({ message }) => message));
      const isLeft = ({ at, message }: { at: number; message?: number }) =>
        message !== undefined && begun.has(message) && !underWay.has(message) && now - at > leftMs;
      const left = [...sent].filter(([, row]) => isLeft(row)).map(([id]) => id);
      const backlogs = removeAll(left);
      begun = new Set(
        [...sent.values(), ...dialing.values()]
          .flatMap(({ message }) => message ?? [])
          .filter((one) => begun.has(one)),
      );
      return backlogs;
    },
    isSent: (id) => sent.has(id),
    sentIn: () => sentBy.backlog,
    sentOf: (account) => sentBy.account.get(account) ?? 0,
    rows: () => sent.values(),
    dialingOf(account, lapseAt) {
      let count = 0;
      for (const one of dialing.values()) {
        if (one.account === account && one.dueAt > lapseAt) count += 1;
      }
      return count;
    },
    countOf: (account) =>
      (sentBy.account.get(account) ?? 0) + (dialingBy.account.get(account) ?? 0),
    countIn: (backlog) =>
      (sentBy.backlog.get(backlog) ?? 0) + (dialingBy.backlog.get(backlog) ?? 0),
    takeCompleted(account) {
      const taken = { completed: completed.get(account) ?? 0, isLagging: lagging.has(account) };
      completed.delete(account);
      lagging.delete(account);
      return taken;
    },
  };
}
