import type { CallRow } from "../calls/call-row.ts";
import { applyErasure } from "../calls/erase-row.ts";
import { states } from "../calls/states.ts";
import { dayMs, minuteMs } from "../lib/units.ts";
import { changeDocuments } from "../ports/change-document.ts";
import type { ValueOf } from "../ports/document-kinds.ts";
import type { CallLedger } from "../ports/ledger.ts";
import { changeList, inParts, type ListDeps } from "./dnc-entries.ts";

/** Rows of one page, and maximum pages of one go: each goes through the newest rows again, so it must reach the oldest. */
const pageRows = 100;
const pagesMax = 100;

/** Time for which messages of calls without a row may wait in queues and as dead letters, and some days more. */
const messagesMs = 45 * dayMs;
/** Time after an erasure in which rows may still be missing in the index by number, or come from a frozen process. */
const settlesMs = 30 * minuteMs;

export interface EraseDeps extends ListDeps {
  ledger: Pick<CallLedger, "list" | "write">;
}

/** Result of going through a number's rows. */
export interface Erased {
  /** Number of rows erased now. */
  erased: number;
  /** Rows of calls that waited and that the erasure has cancelled. The caller counts their ends. */
  cancelled: CallRow[];
  /** Ids of calls under way: their rows are erased when they settle. */
  pending: string[];
  /** True if all rows were gone through. */
  isWhole: boolean;
}

/**
 * Stores erasures: from now on no call that was accepted before is made, and sweeps erase rows that arrive later.
 *
 * @param erasures `retentionMs`: time for which rows are kept
 */
export async function rememberErasures(
  erasures: readonly { hash: string; at: number; by: string; retentionMs: number }[],
  deps: ListDeps,
): Promise<void> {
  if (erasures.length === 0) return;
  await changeList(
    (list) => (list.hasClientEntries === true ? undefined : { ...list, hasClientEntries: true }),
    deps,
  );
  const byHash = new Map(erasures.map((one) => [one.hash, one]));
  for (const some of inParts([...byHash.values()])) {
    const edits = some.map(({ hash, at, by, retentionMs }) => ({
      name: { kind: "erasure" as const, key: hash },
      change: (current: ValueOf<"erasure"> | undefined) => ({
        value: { at: Math.max(at, current?.at ?? 0), by, nextAt: at },
        expiresAt: at + retentionMs + messagesMs,
      }),
    }));
    await changeDocuments(edits, deps);
  }
}

/** Returns when a sweep goes through the rows of an erased number again. */
export function findNextPassAt(
  { at }: Pick<ValueOf<"erasure">, "at">,
  { pending, isWhole }: Erased,
  now: number,
): number {
  if (!isWhole || pending.length > 0 || now < at + settlesMs) return now + minuteMs;
  return now + dayMs;
}

/** Goes through all rows of a number, under one of its hashes, and erases them. */
export async function eraseRows(
  { hash, ...erasure }: { hash: string; at: number; by: string },
  deps: EraseDeps,
): Promise<Erased> {
  const { ledger } = deps;
  const done: Erased = { erased: 0, cancelled: [], pending: [], isWhole: true };
  let before: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const { rows, unreadable, next } = await ledger.list({
      numberHash: hash,
      before,
      limit: pageRows,
    });
    const { erased, cancelled, pending } = await erasePage(rows, erasure, deps);
    done.erased += erased;
    done.cancelled.push(...cancelled);
    done.pending.push(...pending);
    // A row that only a later version can read is erased by that version's sweep.
    if (unreadable > 0) done.isWhole = false;
    if (next === undefined) return done;
    before = next;
  }
  return { ...done, isWhole: false };
}

async function erasePage(
  rows: readonly CallRow[],
  erasure: { at: number; by: string },
  { ledger, clock, random }: EraseDeps,
): Promise<Omit<Erased, "isWhole">> {
  const at = clock.now();
  const changes = rows.flatMap((row) => {
    const next = applyErasure(row, erasure, { version: random.version(), at });
    return next === undefined ? [] : [{ next, seen: row.version, row }];
  });
  const written =
    changes.length === 0
      ? []
      : await ledger.write(changes.map(({ next, seen }) => ({ next, seen })));
  const isWritten = new Map(changes.map(({ next }, index) => [next.id, written[index] === true]));
  // A row that another writer has changed meanwhile is erased by the next pass.
  const pending = rows.filter(({ id, state, acceptedAt }) => {
    if (acceptedAt > erasure.at) return false;
    return isWritten.get(id) === false || (states[state].open && state !== "WAITING");
  });
  const erased = changes.filter(({ next }, n) => written[n] === true && !states[next.state].open);
  const cancelled = erased.flatMap(({ next, row }) => (next.state === row.state ? [] : next));
  return { erased: erased.length, cancelled, pending: pending.map(({ id }) => id) };
}
