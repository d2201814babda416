import { states } from "#shared/calls/states.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { retentionMsOf } from "#shared/dial-plan/expiry.ts";
import { hourMs } from "#shared/lib/units.ts";
import type { SweepTime } from "./sweep-time.ts";

/** Interval at which purges begin. Without an index on expiry each looks at every document once. */
const purgeEveryMs = hourMs;
const pageRows = 500;

type Purged = Pick<ValueOf<"upkeep">, "purge" | "purgeBeganAt" | "purgedUntil">;

/**
 * Deletes rows of calls accepted longer ago than the retention, and then expired documents. Unresolved calls are
 * logged first, so that none disappears silently. A purge begins each hour and continues each minute until it is
 * finished.
 *
 * @returns where the next one continues
 */
export async function purgeSome(
  last: Purged,
  time: SweepTime,
  deps: Pick<DialerDeps, "clock" | "log" | "documents" | "ledger" | "settings">,
): Promise<Partial<Purged>> {
  const { clock, log } = deps;
  const now = clock.now();
  if (last.purge === null && now - last.purgeBeganAt < purgeEveryMs) return {};
  const purgeBeganAt = last.purge === null ? now : last.purgeBeganAt;
  let at: Purged["purge"] = last.purge ?? { row: "" };
  while (at !== null && !time.isOver()) {
    at = at.row === undefined ? await purgeDocuments(at, deps) : await purgeRows(at.row, deps);
  }
  if (at !== null) return { purge: at, purgeBeganAt };
  log("info", "purge.completed", { ms: now - purgeBeganAt });
  return { purge: null, purgeBeganAt, purgedUntil: purgeBeganAt };
}

/** Returns the position after one page of rows. */
async function purgeRows(
  after: string,
  { ledger, clock, settings, log }: Pick<DialerDeps, "ledger" | "clock" | "settings" | "log">,
): Promise<NonNullable<Purged["purge"]>> {
  const before = clock.now() - retentionMsOf(settings.plan);
  const { rows, next } = await ledger.ended({ before, after: after || undefined, limit: pageRows });
  const unresolved = rows.filter(({ state }) => states[state].purge === "alarm");
  if (unresolved.length > 0) {
    const read = await ledger.readWithoutContext(unresolved.map(({ id }) => id));
    const tests = new Set(read.rows.flatMap(({ id, mode }) => (mode === "test" ? id : [])));
    for (const { id, state } of unresolved) {
      const isTest = tests.has(id);
      log(isTest ? "info" : "alarm", "call.purged", { call_id: id, state, reason: "retention" });
    }
  }
  if (rows.length > 0) await ledger.purge(rows.map(({ id }) => id));
  return next === undefined ? {} : { row: next };
}

/** Returns the position after some thousand documents. Null: none follows. */
async function purgeDocuments(
  { document }: NonNullable<Purged["purge"]>,
  { documents }: Pick<DialerDeps, "documents">,
): Promise<Purged["purge"]> {
  const last = await documents.purge(document);
  return last === undefined ? null : { document: last };
}
