import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { indexOf, requestIdOf } from "#shared/calls/ids.ts";
import { applyAction, type OperatorAction } from "#shared/calls/transitions.ts";
import { gatherAbove } from "#shared/policy/gathered-entries.ts";
import { appendEntry, cancelledCallsEntry } from "#shared/policy/journal-entries.ts";
import type { CallLedger, Change } from "#shared/ports/ledger.ts";
import type { ApiEnv, RouteDeps } from "../api/http/context.ts";
import { writerOf } from "../api/actions/writer.ts";
import { countActions } from "../api/actions/change-call.ts";

/** Maximum writes of a row, as of a single action. */
const writesMax = 3;

/**
 * Writes an operator's action over many rows, as `changeCall` does over one. The caller has recorded the action in
 * the audit log.
 *
 * @param actionOf returns the action for a row
 * @returns the resulting rows, and those that stand otherwise: their state does not allow the action any more, or others
 * keep changing them
 */
export async function changeCalls(
  c: Context<ApiEnv>,
  { rows, actionOf }: { rows: readonly CallRow[]; actionOf(row: CallRow): OperatorAction },
  deps: RouteDeps,
): Promise<{ changed: CallRow[]; others: CallRow[] }> {
  const by = c.get("caller").tokenId;
  const changed: CallRow[] = [];
  const others: CallRow[] = [];
  let left = rows;
  for (let writes = 0; left.length > 0; writes++) {
    const at = deps.clock.now();
    const changes = left.flatMap((row) => {
      const write = { version: deps.random.version(), at };
      const next = applyAction(row, { action: actionOf(row), by }, write);
      if (next === undefined) others.push(row);
      return next === undefined ? [] : [{ next, seen: row.version }];
    });
    if (writes === 0) await journal(c, { changes, at, by }, deps);
    const done = changes.length === 0 ? [] : await writeAll(changes, deps.ledger);
    changed.push(...changes.filter((_, n) => done[n] === true).map(({ next }) => next));
    const lost = changes.filter((_, n) => done[n] !== true).map(({ next }) => next.id);
    const former = new Map(left.map((row) => [row.id, row]));
    const now = lost.length === 0 ? [] : (await deps.ledger.read(lost)).rows;
    const isLast = writes + 1 === writesMax;
    others.push(...now.filter(({ id, state }) => isLast || state !== former.get(id)?.state));
    left = isLast ? [] : now.filter(({ id, state }) => state === former.get(id)?.state);
  }
  if (changed.length > 0) await countActions(changed, deps);
  return { changed, others };
}

/** Writes cancellations to the journal, where a restore does not undo them, before the rows are written. */
async function journal(
  c: Context<ApiEnv>,
  { changes, at, by }: { changes: readonly Change[]; at: number; by: string },
  deps: RouteDeps,
): Promise<void> {
  const indexesOf = new Map<string, number[]>();
  for (const { next } of changes) {
    if (next.state !== "CANCELLED") continue;
    const request = requestIdOf(next.id);
    indexesOf.set(request, [...(indexesOf.get(request) ?? []), indexOf(next.id)]);
  }
  const order = { at, by, client: null, retentionMs: deps.retentionMs };
  const to = { ...deps, journal: gatherAbove(writerOf(c), deps) };
  const entries = [...indexesOf].map(([request, indexes]) =>
    appendEntry(cancelledCallsEntry({ request, indexes }, order), to),
  );
  await Promise.all(entries);
}

/** Writes rows. If the answer is lost, reads which of them are written. */
async function writeAll(changes: readonly Change[], ledger: CallLedger): Promise<boolean[]> {
  try {
    return await ledger.write(changes);
  } catch (error) {
    const { rows } = await ledger.read(changes.map(({ next }) => next.id));
    const versions = new Set(rows.map(({ version }) => version));
    const done = changes.map(({ next }) => versions.has(next.version));
    if (!done.includes(true)) throw error;
    return done;
  }
}
