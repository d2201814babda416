import { type CallRow, toCall } from "#shared/calls/call-row.ts";
import { watchLane } from "#shared/calls/lane.ts";
import { mayHaveBeenDialed, type Restored } from "#shared/calls/lost-time.ts";
import { recoverRow } from "#shared/calls/restore-row.ts";
import type { StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import type { DuePosition } from "#shared/ports/ledger.ts";
import type { Route } from "#shared/calls/call-request.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { ends } from "#shared/rules/gates.ts";
import { judgeLost } from "#shared/rules/lost-by-restore.ts";
import { toDecisionFacts } from "../decide/decide-delivered.ts";
import { readControlDocuments } from "../decide/control-documents.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { changeRows, reportStates } from "../record/change-rows.ts";
import { replayJournal } from "./replay-journal.ts";
import type { SweepTime } from "./sweep-time.ts";
import { allBacklogs, oneBacklog, takeStep } from "./walk-backlogs.ts";
import { callBackMsMax } from "#shared/dial-plan/retry-rules.ts";
import { dayMs, minuteMs } from "#shared/lib/units.ts";

/** Maximum rows per read and write, and maximum calls under way that are read. */
const pageRows = 500;
const dialingMax = 5_000;
/**
 * Life of the document of a finished restore. Messages of calls without a row may wait in the queues for two weeks. A wish
 * that is read again may be granted for another day, though its first call-back was made in the lost time.
 */
const rememberedMs = callBackMsMax + 5 * dayMs;
/** Time from which on a restore that has not ended raises an alarm. */
const lateMs = 30 * minuteMs;
/** Rows due up to this time after `since` are read, to cover differences between clocks. */
const dueMarginMs = 120_000;

type Restore = ValueOf<"restore">;
type Pass = NonNullable<Restore["pass"]>;

/**
 * Goes through the rows of a restored ledger, once an operator has confirmed the restore: every row that may have
 * been dialed in the lost time is looked up at its provider or reviewed. A pass goes through the claims and unknown
 * outcomes until it finds none, and then through the waiting rows, because recovered rows enter the former list. Each
 * step is stored, so that any number of rows takes as many sweeps as it needs. A pass that begins in a later sweep
 * and finds nothing ends the restore, because indexes may lag.
 */
export async function recover(
  document: StoredDocument<"restore">,
  time: SweepTime,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "journal">,
): Promise<void> {
  const { documents, clock, random, log } = deps;
  const { at, since, state } = document.value;
  if (state === "suspended" || at === null) {
    log("alarm", "ledger.restored", { due_at: new Date(since).toISOString() });
    return;
  }
  let stored = document;
  const store = async (value: Restore) => {
    const expiresAt = value.state === "done" ? clock.now() + rememberedMs : null;
    const next = { ...stored, version: random.version(), value, expiresAt };
    const [isWritten] = await documents.write([{ next, seen: stored.version }]);
    if (isWritten !== true) throw new Error("another sweep goes through the restored ledger");
    stored = next;
  };
  while (stored.value.isJournalDone !== true) {
    if (time.isOver()) return;
    const replayed = await replayJournal(stored.value, deps);
    await store({ ...stored.value, ...replayed });
  }
  const isLaterSweep = stored.value.isWatchDone;
  while (!time.isOver()) {
    const { value } = stored;
    const pass = value.pass ?? beginPass(value, isLaterSweep);
    const next = await takePassStep({ pass, value, restore: { at, since } }, deps);
    await store(next);
    if (next.state === "done") {
      log("info", "restore.done", { count: next.lookedUp + next.toReview });
      return;
    }
    const isPassOver = next.pass === undefined;
    // Indexes may lag behind the rows that a pass has changed.
    if (isPassOver && !(next.isWatchDone && !value.isWatchDone)) return;
  }
  log("info", "restore.continued", { count: stored.value.pass?.rows ?? 0 });
  const { confirmedAt = Infinity } = stored.value;
  if (clock.now() - confirmedAt > lateMs) {
    log("alarm", "restore.late", { due_at: new Date(confirmedAt).toISOString() });
  }
}

function beginPass({ isWatchDone }: Restore, isLaterSweep: boolean): Pass {
  const walk = isWatchDone ? allBacklogs : oneBacklog(watchLane);
  return { walk, mayEnd: isWatchDone && isLaterSweep, found: 0, rows: 0, backlogs: 0 };
}

/** Takes the next step of a pass, and returns the restore as it is after it. */
async function takePassStep(
  { pass, value, restore }: { pass: Pass; value: Restore; restore: Restored },
  deps: RowDeps & DecisionDeps,
): Promise<Restore> {
  const { isWatchDone } = value;
  const isFirst = !isWatchDone && pass.rows === 0;
  const dialing = isFirst ? await deps.ledger.dialing(dialingMax) : [];
  // Claims and unknown outcomes may be due at any time.
  const until = isWatchDone ? restore.since + dueMarginMs : Number.MAX_SAFE_INTEGER;
  const { found, next } = await takeStep(pass.walk, { until }, deps);
  const positions = [...dialing, ...found.flatMap((one) => one.positions)];
  let gone = nothing;
  for (let start = 0; start < positions.length; start += pageRows) {
    gone = together(
      gone,
      await recoverRows(positions.slice(start, start + pageRows), restore, deps),
    );
  }
  const after = {
    ...pass,
    found: pass.found + gone.found + (dialing.length < dialingMax ? 0 : 1),
    rows: pass.rows + positions.length,
    backlogs: pass.backlogs + found.length,
  };
  const counted = {
    ...value,
    lookedUp: value.lookedUp + gone.lookedUp,
    toReview: value.toReview + gone.toReview,
  };
  if (next !== null) return { ...counted, pass: { ...after, walk: next } };
  const isClean = after.found === 0;
  return {
    ...counted,
    pass: undefined,
    isWatchDone: isWatchDone || isClean,
    state: isClean && pass.mayEnd ? "done" : "confirmed",
  };
}

/** Result of going through some of the rows. */
interface Recovered {
  /** Number of rows that may have been dialed. */
  found: number;
  /** Number of rows to be looked up now, and of rows to be reviewed. */
  lookedUp: number;
  toReview: number;
}

const nothing: Recovered = { found: 0, lookedUp: 0, toReview: 0 };

function together(one: Recovered, other: Recovered): Recovered {
  return {
    found: one.found + other.found,
    lookedUp: one.lookedUp + other.lookedUp,
    toReview: one.toReview + other.toReview,
  };
}

async function recoverRows(
  page: readonly DuePosition[],
  restore: Restored,
  deps: RowDeps & DecisionDeps,
): Promise<Recovered> {
  const { ledger, log } = deps;
  const { rows, unreadable } = await ledger.read(page.map(({ id }) => id));
  for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
  // The next sweep finds rows again that have changed meanwhile.
  const endOf = await readEnds(rows, restore, deps);
  const { changed, conflicts } = await changeRows(
    rows,
    (row, write) => {
      const known = { route: routeToPoll(row, deps), end: endOf.get(row.id), restore };
      return recoverRow(row, known, write);
    },
    deps,
  );
  // A call that was UNKNOWN already is looked up for the lost time, too, and is counted with the others.
  const before = new Map(rows.map(({ id, state }) => [id, state]));
  const stayed = changed.filter(({ id, state }) => before.get(id) === state);
  await reportStates(stayed, deps);
  const lookedUp = changed.filter(({ state }) => state === "UNKNOWN").length;
  const toReview = changed.length - lookedUp;
  return { found: changed.length + conflicts, lookedUp, toReview };
}

/**
 * Returns the ends of waiting calls that a person would have to review, although their controls end them
 * (`judgeLost`).
 */
async function readEnds(
  rows: readonly CallRow[],
  restore: Restored,
  deps: DecisionDeps,
): Promise<Map<string, ReturnType<typeof judgeLost>>> {
  const toReview = rows.filter(
    (row) =>
      row.state === "WAITING" &&
      mayHaveBeenDialed(row, restore) &&
      routeToPoll(row, deps) === undefined,
  );
  const calls = toReview.flatMap((row) => toCall(row) ?? []);
  if (calls.length === 0) return new Map();
  const known = toDecisionFacts(await readControlDocuments(calls, { numbers: true }, deps), deps);
  return new Map(
    calls.flatMap((call) => {
      try {
        const resolved = known.resolver.resolve(call, undefined);
        const facts = { ...known, at: known.now };
        const end = judgeLost(resolved, ends, facts);
        return [[call.id, end] as const];
      } catch (error) {
        // The call waits for review: it must not be dialed again.
        deps.log("warning", "document.unread", { call_id: call.id, error: errorForLog(error) });
        return [];
      }
    }),
  );
}

/** Returns the route along which a call can be looked up, if it was dialed. */
function routeToPoll(row: CallRow, { settings }: Pick<DialerDeps, "settings">): Route | undefined {
  const isWaiting = row.state === "WAITING";
  const route = (isWaiting ? undefined : row.route) ?? settings.table.find(row);
  return route !== undefined && settings.providerOf(route).lookUp !== undefined ? route : undefined;
}
