import { backlogOf } from "../../../shared/calls/call-row.ts";
import {
  comparePositions,
  type DialingCall,
  type DuePosition,
} from "../../../shared/ports/ledger.ts";
import { addTo, createIndexedRows, type IndexedRows } from "./indexed-rows.ts";

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
/** Time after which rows count as left by their delivery, if others of their message were, or a breaker has opened. */
const leftMs = 1_000;

/** Counts of calls by name. */
type Counts = ReadonlyMap<string, number>;

/** The calls in flight: dispatched and still WAITING, or DIALING. */
export interface InFlight {
  /**
   * Takes over the calls under way as they are now. What has left counts as completed.
   *
   * @param isOver true for a call whose request must have ended: its dialer has died, and it is in flight no more
   */
  seeDialing(calls: readonly DialingCall[], isOver?: (call: DialingCall) => boolean): void;
  /** Takes over a page of a backlog: dispatched rows that it no longer has are completed or under way. */
  seeBacklog(backlog: string, page: BacklogPage, now: number): void;
  send(row: SentRow): void;
  /** Notes that rows travel in one message. */
  sendTogether(ids: readonly string[]): void;
  /** Forgets rows that the queue has not taken. Returns their backlogs. */
  forget(ids: readonly string[]): string[];
  /**
   * Forgets rows that their delivery has left as they are. Returns their backlogs.
   *
   * @param refusesUntil time before which an open breaker has refused what was dispatched; 0: none is open
   */
  forgetLeft(refusesUntil: (row: SentRow) => number, now: number): string[];
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
  /** Calls in flight that are not among `known`. */
  countOthers(account: string, known: ReadonlySet<string>): number;
  countIn(backlog: string): number;
  /** Returns what an account has completed since the last time, and whether its dispatches arrive late. */
  takeCompleted(account: string): { completed: number; isLagging: boolean };
}

/** A message of dispatches that the queue has taken. `isBegun`: a delivery has handled rows of it. */
interface SentMessage {
  isBegun: boolean;
}

type SentInMessage = SentRow & { message?: SentMessage | undefined };

interface DialingRow {
  account: string;
  backlog: string;
  dueAt: number;
  message: SentMessage | undefined;
}

export function createInFlight(): InFlight {
  const sent = createIndexedRows<SentInMessage>();
  let dialing = createIndexedRows<DialingRow>();
  const completions = createCompletions();
  const forget = (ids: readonly string[]) => [
    ...new Set(ids.flatMap((id) => sent.take(id)?.backlog ?? [])),
  ];
  return {
    seeDialing(calls, isOver = () => false) {
      const before = dialing.byId;
      const stand = new Set<string>();
      dialing = createIndexedRows();
      for (const call of calls) {
        const message = sent.take(call.id)?.message ?? before.get(call.id)?.message;
        if (message !== undefined) message.isBegun = true;
        stand.add(call.id);
        if (!isOver(call)) dialing.put(call.id, { ...call, backlog: backlogOf(call), message });
      }
      for (const [id, { account }] of before) {
        if (!stand.has(id) && !sent.byId.has(id)) completions.add(account);
      }
    },
    seeBacklog(backlog, page, now) {
      const current = new Map(page.rows.map(({ id, dueAt }) => [id, dueAt]));
      for (const [id, row] of sent.byId) {
        if (row.backlog !== backlog) continue;
        if (hasLeft(row, current.get(id), { page, now })) {
          if (row.message !== undefined) row.message.isBegun = true;
          sent.take(id);
          completions.add(row.account);
        } else if (now - row.at > sentMsMax) {
          sent.take(id);
          completions.lag(row.account);
        }
      }
    },
    send: (row) => sent.put(row.id, row),
    sendTogether(ids) {
      const message = { isBegun: false };
      for (const row of ids.flatMap((id) => sent.byId.get(id) ?? [])) row.message = message;
    },
    forget,
    forgetLeft: (refusesUntil, now) => forget(listLeft(sent, dialing, { refusesUntil, now })),
    isSent: (id) => sent.byId.has(id),
    sentIn: () => sent.byBacklog,
    sentOf: sent.countOf,
    rows: () => sent.byId.values(),
    dialingOf: (account, lapseAt) =>
      [...dialing.byId.values()].filter((one) => one.account === account && one.dueAt > lapseAt)
        .length,
    countOf: (account) => sent.countOf(account) + dialing.countOf(account),
    countOthers: (account, known) =>
      [...sent.byId, ...dialing.byId].filter(([id, of]) => of.account === account && !known.has(id))
        .length,
    countIn: (backlog) => sent.countIn(backlog) + dialing.countIn(backlog),
    takeCompleted: completions.take,
  };
}

/** Counts what accounts have completed, and notes whose dispatches arrive late, until it is asked for. */
function createCompletions() {
  const completed = new Map<string, number>();
  const lagging = new Set<string>();
  return {
    add: (account: string) => addTo(completed, account, 1),
    lag: (account: string) => void lagging.add(account),
    take(account: string): { completed: number; isLagging: boolean } {
      const taken = { completed: completed.get(account) ?? 0, isLagging: lagging.has(account) };
      completed.delete(account);
      lagging.delete(account);
      return taken;
    },
  };
}

/**
 * True if a dispatched row has left its backlog, or comes back to it later. One that the page may just not have reached
 * still stands.
 *
 * @param dueAt its due time on the page; undefined: it is not there
 */
function hasLeft(
  row: SentRow,
  dueAt: number | undefined,
  { page: { rows, isCut }, now }: { page: BacklogPage; now: number },
): boolean {
  if (dueAt !== undefined) return dueAt > now;
  const last = rows.at(-1);
  return !isCut || (last !== undefined && comparePositions(row, last) <= 0);
}

/**
 * Returns the ids of rows that their delivery has left as they are: it has handled others of their message, and none is
 * under way any more, or a breaker refuses them.
 */
function listLeft(
  sent: IndexedRows<SentInMessage>,
  dialing: IndexedRows<DialingRow>,
  { refusesUntil, now }: { refusesUntil(row: SentRow): number; now: number },
): string[] {
  const underWay = new Set([...dialing.byId.values()].map(({ message }) => message));
  return [...sent.byId].flatMap(([id, row]) => {
    const { at, message } = row;
    const isLeft = message?.isBegun === true && !underWay.has(message);
    return (isLeft || at < refusesUntil(row)) && now - at > leftMs ? id : [];
  });
}
