import type { CallRow } from "../../shared/calls/call-row.ts";
import { isIdempotent, type Settlement, settled } from "../../shared/calls/state-machine.ts";
import type { Change } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/platform/log.ts";
import type { DialOutcome } from "../../shared/providers/dialing-provider.ts";
import { useBacklogs } from "./waiting/backlogs.ts";
import type { ReadyDeps } from "./dialer.ts";

/** What a settlement came to: written now, or sent as an `outcome`; refused, as the row has moved on; or lost. */
export type Settling = "written" | "refused" | "lost";

/** Times at which a write that failed is tried again, and how often a conflict is read again. */
const waitsMs = [0, 250, 1000];
const conflictsMax = 3;

/** What the row of a claimed call comes to by its outcome. */
export interface OutcomeOf {
  row: CallRow;
  claim: string;
  /** When the call was due before it was claimed. */
  wasDueAt: number;
  /** A breaker's probe: it goes behind the others where it fails. */
  isProbe: boolean;
  canLookUp: boolean;
  expiresAt: number;
  reviewAfterSeconds: number;
}

/**
 * The settlement that a provider's answer leads to.
 *
 * @param fraction random, 0 ≤ fraction < 1
 */
export function settlementOf(
  outcome: DialOutcome,
  of: OutcomeOf,
  now: number,
  fraction: number,
): Settlement {
  const { row, claim, wasDueAt, isProbe, expiresAt } = of;
  const base = { id: row.id, claim, at: now };
  const waiting = (reason: string, dueAt: number): Settlement => ({
    ...base,
    state: "WAITING",
    reason,
    dueAt: Math.min(Math.round(dueAt), expiresAt),
  });
  if (outcome.kind === "placed") {
    const { providerCallId } = outcome;
    const found = providerCallId === undefined ? {} : { providerCallId };
    return { ...base, state: "PLACED", reason: "placed", ...found };
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
    case "account_refused":
    case "route_refused":
      return waiting(outcome.code, isProbe ? now : wasDueAt);
    case "not_placed": {
      const { retryAfterSeconds } = outcome;
      // A little later than asked, so that what waits together does not come back together.
      if (retryAfterSeconds !== undefined) {
        return waiting(outcome.code, now + retryAfterSeconds * 1000 + fraction * 1000);
      }
      return waiting(outcome.code, isProbe ? now : now + backoffMs(row.attempt, fraction));
    }
  }
}

/** The first look-up comes so soon, and the next ones after 1, 2, 4 … minutes: a new call need not be listed at once. */
const firstLookUpMs = 60_000;
const lookUpsDoubled = 6;

/** When something is next to be done about a call of unknown outcome: look-up, resend or review. */
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

/** Exponential from 5 s to 15 min with full jitter, at least a second. */
function backoffMs(attempt: number, fraction: number): number {
  return Math.max(1000, fraction * Math.min(5_000 * 2 ** (Math.max(1, attempt) - 1), 900_000));
}

/**
 * Writes a settlement, and repeats a write that failed: never the call. On a conflict the row is read again and the
 * settlement applied to it. At last it goes onto the queue as an `outcome`.
 *
 * @param row as the holder knows it: the claim that it wrote
 */
export async function settleSurely(
  row: CallRow,
  settlement: Settlement,
  write: (change: Change) => Promise<boolean>,
  deps: ReadyDeps,
): Promise<Settling> {
  const { ledger, clock, random, log } = deps;
  const { id: call_id, state } = settlement;
  /** The same version in every try: a write whose answer was lost is recognised. */
  let version = random.version();
  let standing: CallRow | undefined = row;
  let conflicts = 0;
  for (let failures = 0; failures < waitsMs.length;) {
    try {
      if (standing === undefined) {
        const { rows, unreadable } = await ledger.read([call_id]);
        if (unreadable.has(call_id)) break;
        standing = rows.get(call_id);
        if (standing?.version === version) return "written";
        version = random.version();
        if (standing === undefined) return "refused"; // purged
      }
      const next = settled(standing, settlement, version);
      if (next === undefined) return "refused";
      // A row that waits is called up by sweeps only where its backlog's document tells of it.
      if (next.state === "WAITING") await useBacklogs([next], deps);
      if (await write({ next, seen: standing.version })) {
        sayIfLate(standing, settlement, deps);
        return "written";
      }
      standing = undefined;
      if (++conflicts > conflictsMax) break;
    } catch (error) {
      log("alarm", "ledger.unreachable", { call_id, state, error: errorForLog(error) });
      failures += 1;
      await clock.sleep(waitsMs[failures] ?? 0);
    }
  }
  return sendOutcome(settlement, 0, deps);
}

/** A call that was redialed or cancelled had been placed after all: somebody may be phoned twice. */
function sayIfLate(row: CallRow, { id, state }: Settlement, { log }: ReadyDeps): void {
  if (state !== "PLACED" || !["REDIALED", "CANCELLED"].includes(row.state)) return;
  log("alarm", "call.placed_late", { call_id: id, state: row.state });
}

/** Puts a settlement onto the queue, for a later delivery to write. */
export async function sendOutcome(
  settlement: Settlement,
  delaySeconds: number,
  { queue, log }: ReadyDeps,
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
 * Settles what an `outcome` message brings.
 *
 * @throws where the ledger cannot be read or written: the message comes again
 */
export async function settleOutcome(settlement: Settlement, deps: ReadyDeps): Promise<void> {
  const { ledger, random, log } = deps;
  const { id: call_id, state, reason } = settlement;
  for (let conflicts = 0; conflicts <= conflictsMax; conflicts++) {
    const { rows, unreadable } = await ledger.read([call_id]);
    if (unreadable.has(call_id)) throw new Error("the row is of a later version");
    const row = rows.get(call_id);
    const next = row && settled(row, settlement, random.version());
    if (row === undefined || next === undefined) {
      log("warning", "call.settlement_refused", { call_id, state, reason });
      return;
    }
    if (next.state === "WAITING") await useBacklogs([next], deps);
    const [isWritten] = await ledger.write([{ next, seen: row.version }]);
    if (isWritten === true) {
      sayIfLate(row, settlement, deps);
      log("warning", "call.settled_late", { call_id, state, reason });
      return;
    }
  }
  throw new Error("the row is written by others all the time");
}
