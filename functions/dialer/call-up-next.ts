import { comparePlaces } from "../../shared/ledger/call-ledger.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import type { Pace } from "../../shared/schedule/pacing.ts";
import { callUpInTurn, placesOf } from "./call-up-rows.ts";
import type { ReadyDeps } from "./dialer.ts";
import { type Horizon, isLive, markOf, type Turn } from "./marks.ts";
import { calledUpKeyOf, paceKeyOf } from "./pacing.ts";
import { readRows } from "./read-backlogs.ts";
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
  /** At the earliest; milliseconds since the epoch. */
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
    const found = reads.flatMap(({ document, fresh }) =>
      fresh.map((place) => ({ ...place, backlog: document.key })),
    );
    // A row that was written before a mark is in no page; was that mark set before, it says nothing of the row.
    const marksOf = new Map(reads.map(({ document }) => [document.key, document.value.marks]));
    const behind = rows.filter((row) => {
      const mark = markOf(row, marksOf.get(row.backlog) ?? []);
      return mark !== undefined && isLive(mark, horizon) && mark.at < row.writtenAt;
    });
    const turns: Turn[] = [...behind, ...found]
      .toSorted(comparePlaces)
      .slice(0, places.moments.length)
      .map((row, index) => ({ ...row, moment: places.moments[index] ?? now }));
    const changes = reads.map(({ document }) => ({ document, value: document.value }));
    const send = (mine: readonly Turn[]) => callUpInTurn(mine, account, pace, places, deps);
    const marked = await markAndSend(turns, changes, horizon, send, deps);
    if (marked.size === changes.length) return;
  }
}
