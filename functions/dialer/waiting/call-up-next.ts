import { comparePlaces } from "../../../shared/ledger/call-ledger.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import type { Pace } from "../../../shared/schedule/pacing.ts";
import { callUpInTurn, inTurn, placesMax, placesOf } from "./call-up-rows.ts";
import type { DialerDeps } from "../context.ts";
import { isLive, markOf } from "../../../shared/schedule/called-up.ts";
import { type Horizon, passedAt, type Turn } from "./marks.ts";
import { calledUpKeyOf, paceKeyOf } from "../../../shared/schedule/account-pace.ts";
import { type Read, readRows } from "./read-backlogs.ts";
import { markAndSend } from "./write-backlogs.ts";

/** Maximum rows of other writers that are called up along with one's own, as they came first. */
const othersMax = 100;

/** A row of an account with a pace that was just written WAITING. */
export interface Written {
  id: string;
  dueAt: number;
  backlog: string;
  /** Latest possible time of the write, in milliseconds since the epoch. */
  writtenAt: number;
}

/**
 * Calls up the next rows in the backlogs of rows just written, so that these need not wait for a sweep. Where
 * a sweep left rows over for lack of places, only sweeps call up, in turn. If another writer calls up rows of
 * a backlog meanwhile, it is read and tried once more; after that, the next writer or sweep does so.
 */
export async function callUpNext(
  route: Route,
  pace: Pace,
  rows: readonly Written[],
  deps: DialerDeps,
): Promise<void> {
  const left = await callUpOnce(route, pace, rows, deps);
  if (left.length > 0) await callUpOnce(route, pace, left, deps);
}

/** @returns the rows whose backlogs another writer has changed meanwhile */
async function callUpOnce(
  route: Route,
  pace: Pace,
  rows: readonly Written[],
  deps: DialerDeps,
): Promise<Written[]> {
  const { documents, clock } = deps;
  const account = accountNameOf(route);
  const keys = [...new Set(rows.map(({ backlog }) => backlog))];
  const read = await documents.read([
    { kind: "account", key: account },
    paceKeyOf(account),
    calledUpKeyOf(account),
    ...keys.map((key) => ({ kind: "backlog", key }) as const),
  ]);
  const standing = read.get("account", account)?.value;
  if (standing?.rowsRemain === true) return [];
  const now = clock.now();
  const most = Math.min(rows.length + othersMax, placesMax(pace, deps));
  const backlogs = keys.flatMap((key) => {
    const document = read.get("backlog", key);
    return document === undefined ? [] : { key, document };
  });
  if (backlogs.length === 0) return [];
  const horizon: Horizon = { now, restartedAt: standing?.restartedAt ?? 0, isPaced: true };
  const marks = backlogs.flatMap(({ document }) => document.value.marks);
  const live = marks.filter((mark) => isLive(mark, horizon));
  const places = placesOf(account, pace, read, live, deps);
  const reads = await readRows(backlogs, most, horizon, deps);
  const found = reads.flatMap(({ document, fresh }): Omit<Turn, "moment">[] =>
    fresh.map((place) => ({ ...place, backlog: document.key })),
  );
  const { servedLast = "" } = standing ?? {};
  const all = [...ownLeft(rows, reads, horizon), ...found];
  const inPlace = inTurn(all, { pace, servedLast }, places, most);
  if (inPlace.turns.length === 0) return [];
  const changes = reads.map(({ document }) => ({ document, value: document.value }));
  const send = (mine: readonly Turn[]) => callUpInTurn(mine, inPlace, account, pace, deps);
  const marked = await markAndSend(inPlace.turns, changes, horizon, send, deps);
  return rows.filter(
    ({ backlog }) => backlogs.some(({ key }) => key === backlog) && !marked.has(backlog),
  );
}

/**
 * Own rows that were not called up and are on no page read: rows before a mark set before they were written,
 * and rows that a ledger index does not show yet.
 */
function ownLeft(
  rows: readonly Written[],
  reads: readonly Read[],
  horizon: Horizon,
): Omit<Turn, "moment">[] {
  const byBacklog = new Map(reads.map((read) => [read.document.key, read]));
  return rows.flatMap(({ id, dueAt, backlog, writtenAt }) => {
    const read = byBacklog.get(backlog);
    if (read === undefined) return [];
    const place = { id, dueAt };
    const mark = markOf(place, read.document.value.marks);
    // A row that was written at the mark's own moment may have come after the mark's page was read.
    const isCovered =
      mark !== undefined && isLive(mark, horizon) && passedAt(place, mark) > writtenAt;
    // If the page was cut off, the row may lie after its end: the rows before it come first.
    const mayFollow =
      !read.isWhole && (read.last === undefined || comparePlaces(place, read.last) > 0);
    if (isCovered || (mark === undefined && mayFollow)) return [];
    if (read.fresh.some((one) => one.id === id)) return [];
    return { id, dueAt, backlog, isBehind: true };
  });
}
