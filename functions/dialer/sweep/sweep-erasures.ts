import { eraseRows, findNextPassAt } from "#shared/policy/erase-number.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { skipUnreadable } from "#shared/ports/found-documents.ts";
import { reportStates } from "../record/change-rows.ts";
import type { RowDeps } from "../runtime/context.ts";
import type { SweepTime } from "./sweep-time.ts";

/** Maximum erasures that one sweep reads. */
const erasuresMax = 100;

/**
 * Erases rows of erased numbers that were in progress, were not in the index yet, or were written later. Returns
 * where the next sweep continues.
 */
export async function sweepErasures(
  { erasuresAfter }: Pick<ValueOf<"upkeep">, "erasuresAfter">,
  time: SweepTime,
  deps: RowDeps,
): Promise<Pick<ValueOf<"upkeep">, "erasuresAfter">> {
  const { documents, clock, random, log } = deps;
  const after = erasuresAfter ?? undefined;
  const listed = await documents.list("erasure", { after, limit: erasuresMax });
  let reached = after;
  for (const erasure of skipUnreadable(listed, deps)) {
    if (time.isOver()) return { erasuresAfter: reached ?? null };
    reached = erasure.key;
    if (erasure.value.nextAt > clock.now()) continue;
    const { at, by } = erasure.value;
    const done = await eraseRows({ hash: erasure.key, at, by }, deps);
    await reportStates(done.cancelled, deps);
    const nextAt = findNextPassAt(erasure.value, done, clock.now());
    const next = { ...erasure, value: { ...erasure.value, nextAt }, version: random.version() };
    await documents.write([{ next, seen: erasure.version }]);
    if (done.erased > 0) log("info", "number.erased", { count: done.erased });
  }
  return { erasuresAfter: listed.length < erasuresMax ? null : (listed.at(-1)?.key ?? null) };
}
