import type { CallResult } from "../../../shared/calls/call-result.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { contradicted, recordResult } from "../../../shared/calls/record-result.ts";
import type { Change } from "../../../shared/ports/ledger.ts";
import type { Route } from "../../../shared/calls/route.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { pollAtOf, isPolledLast } from "../record/poll-times.ts";
import { dayMs, minuteMs } from "../../../shared/lib/units.ts";

/** A placed call that is polled for its result. */
export type OpenRow = CallRow & { route: Route; claimedAt: number };

/** Returns a row whose result may be written, or nothing. */
export function openRowOf(row: CallRow | undefined): OpenRow[] {
  if (row === undefined || row.state !== "PLACED") return [];
  const { route, claimedAt } = row;
  return route === null || claimedAt === null ? [] : [{ ...row, route, claimedAt }];
}

/**
 * Writes the results that records of calls contain. A row that has changed since it was read is left to its writer. A call whose
 * end is not known once the time for polling is over has the result `unknown`.
 *
 * @param askedAt time before the provider was asked: an answer may be as old as that
 * @returns false if another writer has changed one of the rows
 */
export async function writeResults(
  found: readonly { row: OpenRow; result: CallResult | undefined }[],
  askedAt: number,
  deps: DialerDeps,
): Promise<boolean> {
  const { ledger, clock, random, settings, log } = deps;
  const waitMinutes = settings.plan.results?.waitMinutes ?? 0;
  const at = clock.now();
  const changes = found.flatMap(({ row, result }): Change[] => {
    const isOpen = result === undefined || result.status === "live";
    const isOver = isOpen && isPolledLast(row.claimedAt, askedAt, waitMinutes);
    const known = isOver ? toUnknown(result) : result && { ...result, readAt: askedAt };
    const pollAt = pollAtOf(row, at, deps) ?? at;
    const next = recordResult(row, known, pollAt, { version: random.version(), at });
    return next === undefined ? [] : [{ next, seen: row.version }];
  });
  const written = changes.length === 0 ? [] : await ledger.write(changes);
  for (const [index, { next }] of changes.entries()) {
    if (written[index] !== true || next.backlog !== null) continue;
    const { id: call_id, agentId: agent_id, client, route } = next;
    const provider = route?.provider ?? "";
    if (next.history.at(-1)?.reason === contradicted) {
      log("alarm", "result.contradicted", { call_id, provider });
      continue;
    }
    const status = next.result?.status ?? "";
    log("info", "call.result", { call_id, client, agent_id, provider, result: status });
    if (next.result?.unmapped === true) log("warning", "result.unmapped", { call_id, provider });
  }
  return written.every(Boolean);
}

/** Time until a call is polled again whose record could not be read. */
const postponedMs = 5 * minuteMs;
/** Time past the end of polling after which a record that can never be read is given up. */
const lostMs = dayMs;

/** Postpones the next poll of a call whose record could not be read. */
export async function postpone(
  row: OpenRow,
  { ledger, clock, random, settings }: DialerDeps,
): Promise<void> {
  const at = clock.now();
  const waitMinutes = settings.plan.results?.waitMinutes ?? 0;
  const isLost = isPolledLast(row.claimedAt, at - lostMs, waitMinutes);
  const result = isLost ? toUnknown(row.result ?? undefined) : undefined;
  const next = recordResult(row, result, at + postponedMs, { version: random.version(), at });
  if (next !== undefined) await ledger.write([{ next, seen: row.version }]);
}

/** Returns the result of a call whose end was not known in time. */
function toUnknown(result: CallResult | undefined): CallResult {
  const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
  return { ...nothing, ...result, status: "unknown" };
}
