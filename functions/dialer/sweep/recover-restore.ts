import { type CallRow, watchBacklog } from "../../../shared/calls/call-row.ts";
import { recoverRow, type Restored } from "../../../shared/calls/restore-row.ts";
import { findRoute } from "../../../shared/dial-plan/dial-plan.ts";
import type { StoredDocument } from "../../../shared/ports/document-kinds.ts";
import type { DuePosition } from "../../../shared/ports/ledger.ts";
import type { Route } from "../../../shared/calls/call-request.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { changeRows, reportStates } from "../record/change-rows.ts";
import { replayJournal } from "./replay-journal.ts";
import type { SweepTime } from "./sweep-time.ts";
import { dayMs } from "../../../shared/lib/units.ts";

/** Maximum rows per read and write. */
const pageRows = 500;
/** Maximum backlogs of one list. */
const pageBacklogs = 500;
/** Life of the document of a finished restore, as messages of calls without a row may wait that long in the queues. */
const rememberedMs = 35 * dayMs;
/** Rows due up to this time after `since` are read, to cover differences between clocks. */
const dueMarginMs = 120_000;

/** A time after every due time. */
const endOfTime = Number.MAX_SAFE_INTEGER;

type RestoreDocument = StoredDocument<"restore">;

/** Result of going through some of the rows. */
interface Recovered {
  /** True if all rows were read. */
  isWhole: boolean;
  /** Number of rows that may have been dialed. */
  found: number;
  /** Number of rows to be looked up now, and of rows to be reviewed. */
  lookedUp: number;
  toReview: number;
}

/**
 * Goes through the rows of a restored ledger, once an operator has confirmed the restore: every row that may have
 * been dialed in the lost time is looked up at its provider or reviewed. A later sweep that finds no more such rows
 * ends the restore, as indexes may lag.
 */
export async function recover(
  document: RestoreDocument,
  time: SweepTime,
  deps: DialerDeps,
): Promise<void> {
  const { documents, clock, random, log } = deps;
  const { value } = document;
  if (value.state === "suspended" || value.at === null) {
    log("alarm", "ledger.restored", { due_at: new Date(value.since).toISOString() });
    return;
  }
  const replayed = await replayJournal(value, time, deps);
  if (replayed.isJournalDone !== true) {
    const next = { ...document, version: random.version(), value: { ...value, ...replayed } };
    await documents.write([{ next, seen: document.version }]);
    return;
  }
  const restore: Restored = { at: value.at, since: value.since };
  // Recovered waiting rows enter the watch backlog, so that is read before the waiting rows.
  const watched = value.isWatchDone
    ? nothing
    : together(
        await recoverDialing(restore, time, deps),
        await recoverBacklog({ key: watchBacklog, until: endOfTime }, { restore, time }, deps),
      );
  const isWatchDone = watched.isWhole && watched.found === 0;
  const waiting = isWatchDone ? await recoverWaiting(restore, time, deps) : nothing;
  const isDone = value.isWatchDone && waiting.isWhole && waiting.found === 0;
  const next: RestoreDocument = {
    ...document,
    version: random.version(),
    value: {
      ...value,
      ...replayed,
      isWatchDone,
      lookedUp: value.lookedUp + watched.lookedUp + waiting.lookedUp,
      toReview: value.toReview + watched.toReview + waiting.toReview,
      state: isDone ? "done" : "confirmed",
    },
    expiresAt: isDone ? clock.now() + rememberedMs : null,
  };
  await documents.write([{ next, seen: document.version }]);
  if (isDone) log("info", "restore.done", { count: next.value.lookedUp + next.value.toReview });
}

const nothing: Recovered = { isWhole: true, found: 0, lookedUp: 0, toReview: 0 };

function together(one: Recovered, other: Recovered): Recovered {
  return {
    isWhole: one.isWhole && other.isWhole,
    found: one.found + other.found,
    lookedUp: one.lookedUp + other.lookedUp,
    toReview: one.toReview + other.toReview,
  };
}

/** Maximum calls under way that are read. */
const dialingMax = 5_000;

async function recoverDialing(
  restore: Restored,
  time: SweepTime,
  deps: DialerDeps,
): Promise<Recovered> {
  const calls = await deps.ledger.dialing(dialingMax);
  let gone = nothing;
  for (let start = 0; start < calls.length; start += pageRows) {
    if (time.isOver()) return { ...gone, isWhole: false };
    gone = together(gone, await recoverRows(calls.slice(start, start + pageRows), restore, deps));
  }
  return calls.length < dialingMax ? gone : { ...gone, isWhole: false };
}

async function recoverWaiting(
  restore: Restored,
  time: SweepTime,
  deps: DialerDeps,
): Promise<Recovered> {
  let gone = nothing;
  let after: string | undefined;
  for (;;) {
    const backlogs = await deps.documents.list("backlog", { after, limit: pageBacklogs });
    for (const { key } of backlogs) {
      const until = restore.since + dueMarginMs;
      gone = together(gone, await recoverBacklog({ key, until }, { restore, time }, deps));
    }
    if (backlogs.length < pageBacklogs || !gone.isWhole) return gone;
    after = backlogs.at(-1)?.key;
  }
}

/** Goes through the rows of a backlog that are due by `until`. */
async function recoverBacklog(
  { key, until }: { key: string; until: number },
  { restore, time }: { restore: Restored; time: SweepTime },
  deps: DialerDeps,
): Promise<Recovered> {
  let gone = nothing;
  let after: DuePosition | undefined;
  while (!time.isOver()) {
    const backlogs = [{ key, after }];
    const [page = []] = await deps.ledger.due({ backlogs, until, each: pageRows });
    gone = together(gone, await recoverRows(page, restore, deps));
    if (page.length < pageRows) return gone;
    after = page.at(-1);
  }
  return { ...gone, isWhole: false };
}

async function recoverRows(
  page: readonly DuePosition[],
  restore: Restored,
  deps: DialerDeps,
): Promise<Recovered> {
  if (page.length === 0) return nothing;
  const { ledger, log } = deps;
  const { rows, unreadable } = await ledger.read(page.map(({ id }) => id));
  for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
  // The next sweep finds rows again that have changed meanwhile.
  const { changed, conflicts } = await changeRows(
    [...rows.values()],
    (row, write) => recoverRow(row, { route: routeToPoll(row, deps), restore }, write),
    deps,
  );
  // A call that was UNKNOWN already is looked up for the lost time, too, and is counted with the others.
  const stayed = changed.filter(({ id, state }) => rows.get(id)?.state === state);
  await reportStates(stayed, deps);
  const lookedUp = changed.filter(({ state }) => state === "UNKNOWN").length;
  const toReview = changed.length - lookedUp;
  return { isWhole: true, found: changed.length + conflicts, lookedUp, toReview };
}

/** Returns the route along which a call can be looked up, if it was dialed. */
function routeToPoll(row: CallRow, { settings }: DialerDeps): Route | undefined {
  const isWaiting = row.state === "WAITING";
  const route = (isWaiting ? undefined : row.route) ?? findRoute(row, settings.plan);
  return route !== undefined && settings.providerOf(route).lookUp !== undefined ? route : undefined;
}
