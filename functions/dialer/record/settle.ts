import type { CallRow } from "../../../shared/calls/call-row.ts";
import { retryAfterMsMax } from "../../../shared/policy/breaker-causes.ts";
import {
  isIdempotent,
  type Settlement,
  applySettlement,
} from "../../../shared/calls/transitions.ts";
import type { Change } from "../../../shared/ports/ledger.ts";
import { ConflictError, onConflict, retry } from "../../../shared/lib/retry.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import type { DialOutcome } from "../../../shared/providers/provider.ts";
import { ensureBacklogs } from "./open-backlogs.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { minuteMs } from "../../../shared/lib/units.ts";

/**
 * Result of a settlement. `written`: written now or sent as an `outcome`; `refused`: the row has moved on;
 * `lost`: neither write nor send succeeded.
 */
export type Settling = "written" | "refused" | "lost";

/** Waits before each try of a write, in milliseconds, and the maximum number of conflicts that are read again. */
const waitsMs = [0, 250, 1000];
const conflictsMax = 3;

/** A claimed call and everything its settlement depends on besides the outcome. */
export interface OutcomeOf {
  row: CallRow;
  claim: string;
  canLookUp: boolean;
  expiresAt: number;
  reviewAfterSeconds: number;
  /** First time to ask for the result of the call, should it be placed. Undefined: its result is not asked for. */
  pollAt: number | undefined;
}

/**
 * Returns the settlement for a provider's answer.
 *
 * @param fraction random, 0 ≤ fraction < 1
 */
export function settlementOf(
  outcome: DialOutcome,
  of: OutcomeOf,
  now: number,
  fraction: number,
): Settlement {
  const { row, claim, expiresAt } = of;
  const base = { id: row.id, claim, at: now };
  const waiting = (reason: string, dueAt: number): Settlement => ({
    ...base,
    state: "WAITING",
    reason,
    dueAt: Math.min(Math.round(dueAt), expiresAt),
  });
  if (outcome.kind === "placed") {
    const { providerCallId } = outcome;
    const { pollAt } = of;
    const known = {
      ...(providerCallId === undefined ? {} : { providerCallId }),
      ...(pollAt === undefined ? {} : { pollAt }),
    };
    return { ...base, state: "PLACED", reason: "placed", ...known };
  }
  if (outcome.kind === "unknown" || row.resent) {
    const dueAt = unknownDueAt(row, of, now, fraction);
    return { ...base, state: "UNKNOWN", reason: outcome.code, dueAt };
  }
  switch (outcome.kind) {
    case "rejected":
      return { ...base, state: "REJECTED", reason: outcome.code };
    case "forbidden":
      return { ...base, state: "NEEDS_REVIEW", reason: outcome.code };
    // A row that comes back after an answer goes behind those that are due, so that it holds nobody.
    case "account_refused":
    case "route_refused":
      return waiting(outcome.code, now);
    case "not_placed": {
      const { blamesNumber, retryAfterSeconds = 0 } = outcome;
      // Otherwise the breaker of the backlog waits for as long as the provider asks.
      const askedMs =
        blamesNumber === true ? Math.min(retryAfterSeconds * 1000, retryAfterMsMax) : 0;
      return waiting(
        outcome.code,
        now + Math.max(askedMs, comeBackMs(row.attempt)) + fraction * 1000,
      );
    }
  }
}

/** Wait of a row whose request was surely not placed: 1, 2, 4 … 60 s; in milliseconds. */
function comeBackMs(attempt: number): number {
  return Math.min(1000 * 2 ** (Math.max(1, attempt) - 1), minuteMs);
}

/**
 * Delay of the first look-up, as a new call need not be listed at once. The next ones follow after 1, 2, 4 …
 * minutes.
 */
const firstLookUpMs = minuteMs;
const lookUpsDoubled = 6;

/**
 * Time of the next action on a call of unknown outcome (look-up, resend or review), in milliseconds since the
 * epoch.
 */
export function unknownDueAt(
  row: Pick<CallRow, "route" | "attempt" | "misses" | "unknownSince">,
  { canLookUp, reviewAfterSeconds }: Pick<OutcomeOf, "canLookUp" | "reviewAfterSeconds">,
  now: number,
  fraction: number,
): number {
  const reviewAt = (row.unknownSince ?? now) + reviewAfterSeconds * 1000;
  if (canLookUp) {
    return Math.min(now + firstLookUpMs * 2 ** Math.min(row.misses, lookUpsDoubled), reviewAt);
  }
  if (!isIdempotent(row.route)) return reviewAt;
  return Math.min(Math.round(now + backoffMs(row.attempt, fraction)), reviewAt);
}

/** Exponential backoff from 5 s to 15 min with full jitter, at least one second; in milliseconds. */
function backoffMs(attempt: number, fraction: number): number {
  return Math.max(1000, fraction * Math.min(5_000 * 2 ** (Math.max(1, attempt) - 1), 900_000));
}

/**
 * Writes a settlement and repeats a failed write, never the call. On a conflict the row is read again and the
 * settlement applied to it. If all tries fail, the settlement goes onto the queue as an `outcome`.
 *
 * @param row the row with the claim, as the holder wrote it
 */
export async function settleSurely(
  row: CallRow,
  settlement: Settlement,
  write: (change: Change) => Promise<boolean>,
  deps: DialerDeps,
): Promise<Settling> {
  const { ledger, clock, random, log } = deps;
  const { id: call_id, state } = settlement;
  /** Every try carries the same version, so that a write whose answer was lost is recognised. */
  let version = random.version();
  let current: CallRow | undefined = row;
  let conflicts = 0;
  for (let failures = 0; failures < waitsMs.length;) {
    try {
      if (current === undefined) {
        const { rows, unreadable } = await ledger.read([call_id]);
        if (unreadable.has(call_id)) break;
        current = rows.get(call_id);
        if (current?.version === version) return "written";
        version = random.version();
        if (current === undefined) return "refused"; // purged
      }
      const next = applySettlement(current, settlement, version);
      if (next === undefined) return "refused";
      // Dispatchers look only at backlogs that have a document, so it is renewed before a WAITING row is written.
      if (next.state === "WAITING") await ensureBacklogs([next], deps);
      if (await write({ next, seen: current.version })) {
        sayIfLate(current, settlement, deps);
        return "written";
      }
      current = undefined;
      if (++conflicts > conflictsMax) break;
    } catch (error) {
      log("alarm", "ledger.unreachable", { call_id, state, error: errorForLog(error) });
      failures += 1;
      await clock.sleep(waitsMs[failures] ?? 0);
    }
  }
  return sendOutcome(settlement, 0, deps);
}

/** Raises an alarm if a redialed or cancelled call turns out placed: somebody may be phoned twice. */
function sayIfLate(row: CallRow, { id, state }: Settlement, { log }: DialerDeps): void {
  if (state !== "PLACED" || !["REDIALED", "CANCELLED"].includes(row.state)) return;
  log("alarm", "call.placed_late", { call_id: id, state: row.state });
}

/** Sends a settlement to the queue, for a later delivery to write. */
export async function sendOutcome(
  settlement: Settlement,
  delaySeconds: number,
  { queue, log }: DialerDeps,
): Promise<"written" | "lost"> {
  try {
    await queue.send({ kind: "outcome", settlement }, delaySeconds);
    return "written";
  } catch (error) {
    log("alarm", "queue.unreachable", { call_id: settlement.id, error: errorForLog(error) });
    return "lost";
  }
}

/**
 * Writes the settlement of an `outcome` message.
 *
 * @throws if the ledger cannot be read or written; the message is then retried
 */
export async function settleOutcome(settlement: Settlement, deps: DialerDeps): Promise<void> {
  const { ledger, random, log } = deps;
  const { id: call_id, state, reason } = settlement;
  await retry(
    async () => {
      const { rows, unreadable } = await ledger.read([call_id]);
      if (unreadable.has(call_id)) throw new Error("the row is of a later version");
      const row = rows.get(call_id);
      const next = row && applySettlement(row, settlement, random.version());
      if (row === undefined || next === undefined) {
        log("warning", "call.settlement_refused", { call_id, state, reason });
        return;
      }
      if (next.state === "WAITING") await ensureBacklogs([next], deps);
      const [isWritten] = await ledger.write([{ next, seen: row.version }]);
      if (isWritten === true) {
        sayIfLate(row, settlement, deps);
        log("warning", "call.settled_late", { call_id, state, reason });
        return;
      }
      throw new ConflictError("every try to write the row met a conflict");
    },
    onConflict(conflictsMax + 1),
  );
}
