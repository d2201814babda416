import { comparePlaces } from "../../../shared/ledger/call-ledger.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import type { Pace } from "../../../shared/schedule/pacing.ts";
import { callUpInTurn, placesOf } from "./call-up-rows.ts";
import type { ReadyDeps } from "../dialer.ts";
import { type Horizon, isLive, markOf, type Turn } from "./marks.ts";
import { calledUpKeyOf, paceKeyOf } from "../delivery/permits.ts";
import { type Read, readRows } from "./read-backlogs.ts";
import { markAndSend } from "./write-backlogs.ts";

/** Another writer may move the mark first: then the rows after it are read again. */
const triesMax = 3;
/** Rows of other writers that are called up along with one's own: they came first. */
const othersMax = 100;

/** A row that was just written WAITING, of an account with a pace. */
export interface Written {
  id: string;
  dueAt: number;
  backlog: string;
  /** By when it surely was; milliseconds since the epoch. */
  writtenAt: number;
}

/**
 * Calls up what comes next in the backlogs of rows that were just written, so that nobody waits for a sweep to notice
 * them. Where rows remain that no sweep had places for, the sweep alone calls up, in turn.
 */
export async function callUpNext(
  route: Route,
  pace: Pace,
  rows: readonly Written[],
  deps: ReadyDeps,
): Promise<void> {
  const { documents, clock } = deps;
  const account = accountNameOf(route);
  const keys = [...new Set(rows.map(({ backlog }) => backlog))];
  for (let tries = 0; tries < triesMax; tries++) {
    const read = await documents.read([
      { kind: "account", key: account },
      paceKeyOf(account),
      calledUpKeyOf(account),
      ...keys.map((key) => ({ kind: "backlog", key }) as const),
    ]);
    const standing = read.get("account", account)?.value;
    if (standing?.rowsRemain === true) return;
    const now = clock.now();
    const places = placesOf(account, pace, rows.length + othersMax, read, deps);
    const backlogs = keys.flatMap((key) => {
      const document = read.get("backlog", key);
      return document === undefined ? [] : { document };
    });
    if (places.moments.length === 0 || backlogs.length === 0) return;
    const horizon: Horizon = { now, restartedAt: standing?.restartedAt ?? 0, isPaced: true };
    const reads = await readRows(backlogs, places.moments.length, horizon, deps);
    const found = reads.flatMap(({ document, fresh }): Omit<Turn, "moment">[] =>
      fresh.map((place) => ({ ...place, backlog: document.key })),
    );
    const turns: Turn[] = [...ownLeft(rows, reads, horizon, deps), ...found]
      .toSorted(comparePlaces)
      .slice(0, places.moments.length)
      .map((row, index) => ({ ...row, moment: places.moments[index] ?? now }));
    const changes = reads.map(({ document }) => ({ document, value: document.value }));
    const send = async (mine: readonly Turn[]) => {
      const sent = await callUpInTurn(mine, account, pace, places, deps);
      noteCalledUp(sent, deps);
      return sent;
    };
    const marked = await markAndSend(turns, changes, horizon, send, deps);
    if (marked.size === changes.length) return;
  }
}

/**
 * Own rows that no page shows and nobody called up: those before a mark that was set before they were written, and
 * those that an index of the ledger does not show yet.
 */
function ownLeft(
  rows: readonly Written[],
  reads: readonly Read[],
  horizon: Horizon,
  { memory }: ReadyDeps,
): Omit<Turn, "moment">[] {
  const byBacklog = new Map(reads.map((read) => [read.document.key, read]));
  return rows.flatMap(({ id, dueAt, backlog, writtenAt }) => {
    const read = byBacklog.get(backlog);
    if (read === undefined || memory.calledUp.has(id)) return [];
    const place = { id, dueAt };
    const mark = markOf(place, read.document.value.marks);
    const isCovered = mark !== undefined && isLive(mark, horizon) && mark.at >= writtenAt;
    // A page that is not whole may end before it: those before it come first.
    const mayFollow =
      !read.isWhole && (read.last === undefined || comparePlaces(place, read.last) > 0);
    if (isCovered || (mark === undefined && mayFollow)) return [];
    if (read.fresh.some((one) => one.id === id)) return [];
    return { id, dueAt, backlog, isBehind: true };
  });
}

/** Rows that this process remembers to have called up, so that it does not call up its own again. */
const calledUpMax = 20_000;

function noteCalledUp(sent: readonly Turn[], { memory }: ReadyDeps): void {
  if (memory.calledUp.size > calledUpMax) memory.calledUp.clear();
  for (const { id } of sent) memory.calledUp.add(id);
}
