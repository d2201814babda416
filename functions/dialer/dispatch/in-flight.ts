import { dispatchAgeMsMax } from "#shared/lib/timing.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import { comparePositions, type DialingCall, type DuePosition } from "#shared/ports/ledger.ts";
import { addTo, createIndexedRows, type IndexedRows } from "./indexed-rows.ts";

/** A dispatched row that is still WAITING. */
export interface SentRow extends DuePosition {
  account: string;
  backlog: string;
  /** Time of the dispatch. */
  at: number;
}

/** The first rows of a backlog. `isCut`: more follow. */
export interface BacklogPage {
  rows: readonly DuePosition[];
  isCut: boolean;
}

/**
 * Time after which rows count as left by their delivery, if it has handled others of their message, or if a breaker
 * has opened.
 */
const leftMs = 1_000;

/** Counts of calls by name. */
type Counts = ReadonlyMap<string, number>;

/** The calls in flight: dispatched and still WAITING, or DIALING. */
export interface InFlight {
  /**
   * Records the calls under way. Calls that have left count as completed.
   *
   * @param isOver true for a call whose request must have ended, as its dialer has died. Such a call is not in flight
   */
  seeDialing(calls: readonly DialingCall[], isOver?: (call: DialingCall) => boolean): void;
  /** Records the first rows of a backlog. Dispatched rows that are missing are completed or under way. */
  seeBacklog(backlog: string, page: BacklogPage, now: number): void;
  send(row: SentRow): void;
  /** Records that rows were sent in one message. */
  sendTogether(ids: readonly string[]): void;
  /** Forgets rows that the queue did not take. Returns their backlogs. */
  forget(ids: readonly string[]): string[];
  /**
   * Forgets rows that their delivery has left unchanged. Returns their backlogs.
   *
   * @param refusesUntil time until which an open breaker refuses a row; 0: none is open
   */
  forgetLeft(refusesUntil: (row: SentRow) => number, now: number): string[];
  isSent(id: string): boolean;
  /** Number of dispatched rows that still wait, by backlog. */
  sentIn(): Counts;
  /** Number of dispatched rows of an account that still wait. */
  sentOf(account: string): number;
  /** The dispatched rows that still wait, in the order of dispatch. */
  rows(): Iterable<SentRow>;
  /** Number of calls of an account under way whose claims lapse after `lapseAt`, which are the recent ones. */
  dialingOf(account: string, lapseAt: number): number;
  /** Number of calls in flight of an account. */
  countOf(account: string): number;
  /** Number of calls in flight of an account that are not in `known`. */
  countOthers(account: string, known: ReadonlySet<string>): number;
  countIn(backlog: string): number;
  /**
   * Returns the number of calls that an account has completed since the last call of this, and if its dispatches
   * arrive late.
   */
  takeCompleted(account: string): { completed: number; isLagging: boolean };
  /** Returns the backlogs of which a dispatched row has left since the last call of this. */
  takeMoved(): ReadonlySet<string>;
}

/** A dispatch that the queue has taken. `isBegun`: a delivery has handled some of its rows. */
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

/** @param checkMsOf returns the time that the checks of a backlog's calls may take */
export function createInFlight(checkMsOf: (backlog: string) => number = () => 0): InFlight {
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
        const message =
          completions.move(sent.take(call.id))?.message ?? before.get(call.id)?.message;
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
          completions.complete(sent.take(id));
        } else if (now - row.at > dispatchAgeMsMax + checkMsOf(backlog)) {
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
    forgetLeft: (refusesUntil, now) =>
      forget(listLeft(sent, dialing, { refusesUntil, checkMsOf, now })),
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
    takeMoved: completions.takeMoved,
  };
}

/** Counts completed calls and late dispatches by account, and notes the backlogs that dispatched rows have left. */
function createCompletions() {
  const completed = new Map<string, number>();
  const lagging = new Set<string>();
  let moved = new Set<string>();
  return {
    complete(row: SentInMessage | undefined): void {
      if (row === undefined) return;
      moved.add(row.backlog);
      addTo(completed, row.account, 1);
    },
    move(row: SentInMessage | undefined): SentInMessage | undefined {
      if (row !== undefined) moved.add(row.backlog);
      return row;
    },
    takeMoved(): ReadonlySet<string> {
      const taken = moved;
      moved = new Set();
      return taken;
    },
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
 * True if a dispatched row has left its backlog, or has a later due time. A row after the end of the page counts as
 * waiting.
 *
 * @param dueAt the row's due time on the page; undefined if it is not there
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
 * Returns the ids of rows that their delivery has left unchanged: it has handled others of their message, and none is
 * under way any more, or a breaker refuses them.
 */
function listLeft(
  sent: IndexedRows<SentInMessage>,
  dialing: IndexedRows<DialingRow>,
  {
    refusesUntil,
    checkMsOf,
    now,
  }: { refusesUntil(row: SentRow): number; checkMsOf(backlog: string): number; now: number },
): string[] {
  const underWay = new Set([...dialing.byId.values()].map(({ message }) => message));
  return [...sent.byId].flatMap(([id, row]) => {
    const { at, message } = row;
    const isLeft = message?.isBegun === true && !underWay.has(message);
    return (isLeft || at < refusesUntil(row)) && now - at > leftMs + checkMsOf(row.backlog)
      ? id
      : [];
  });
}
