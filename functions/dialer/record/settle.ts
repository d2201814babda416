import { requireReadable, unreadable } from "#shared/ports/unreadable.ts";
import { settleWaitsMs } from "#shared/lib/timing.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { applySettlement, type Settlement } from "#shared/calls/transitions.ts";
import type { Change } from "#shared/ports/ledger.ts";
import { ConflictError, onConflict, retry } from "#shared/lib/retry.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { ensureBacklogs } from "./open-backlogs.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * Result of a settlement. `written`: written now, or sent as an `outcome`; `refused`: the row does not accept it;
 * `lost`: neither write nor send succeeded.
 */
export type Settling = "written" | "refused" | "lost";

const conflictsMax = 3;

/** Writes a change of one row. Resolves to true if the row is now as requested. */
type WriteRow = (change: Change) => Promise<boolean>;

/**
 * Writes a settlement, and retries a failed write, never the call. After a conflict, reads the row again and applies
 * the settlement to it. If all tries fail, sends the settlement to the queue as an `outcome`.
 *
 * @param row the row with the claim, as the holder wrote it
 */
export async function settleSurely(
  settlement: Settlement,
  { row, write }: { row: CallRow; write: WriteRow },
  deps: Pick<DialerDeps, "queue" | "ledger" | "documents" | "clock" | "random" | "log" | "memory">,
): Promise<Settling> {
  const { ledger, clock, random, log } = deps;
  const { id: call_id, state } = settlement;
  /** Retries have the same version, so that a write whose answer was lost is recognized. */
  let version = random.version();
  let current: CallRow | undefined = row;
  let conflicts = 0;
  for (let failures = 0; failures < settleWaitsMs.length;) {
    try {
      if (current === undefined) {
        const found = (await ledger.read([call_id])).get(call_id);
        if (found === unreadable) break;
        current = found;
        if (current?.version === version) return "written";
        version = random.version();
        if (current === undefined) return "refused"; // purged
        if (!hadAnswer(row, settlement) && hadAnswer(current, settlement)) return "refused";
      }
      const result = await writeSettlement(current, { settlement, version, write }, deps);
      if (result !== "conflict") return result;
      current = undefined;
      if (++conflicts > conflictsMax) break;
    } catch (error) {
      log("alarm", "ledger.unreachable", { call_id, state, error: errorForLog(error) });
      failures += 1;
      await clock.sleep(settleWaitsMs[failures] ?? 0);
    }
  }
  return sendOutcome(settlement, 0, deps);
}

/**
 * True if a row has had the answer of a claim that placed nothing. If the claim is the row's again, a callback has cast doubt
 * on that answer since: repeated, it must not have the call dialed again.
 */
function hadAnswer({ released }: CallRow, { state, claim }: Settlement): boolean {
  return state !== "PLACED" && released?.includes(claim) === true;
}

/** Applies a settlement to a row, and writes it once. `refused`: the row does not accept it. */
async function writeSettlement(
  row: CallRow,
  { settlement, version, write }: { settlement: Settlement; version: string; write: WriteRow },
  deps: Pick<DialerDeps, "clock" | "documents" | "random" | "memory" | "log">,
): Promise<"written" | "refused" | "conflict"> {
  const { id, state } = settlement;
  const next = applySettlement(row, settlement, version);
  if (next === undefined) return "refused";
  // Dispatchers read only backlogs with a document, so it is renewed before a WAITING row is written.
  if (next.state === "WAITING") await ensureBacklogs([next], deps);
  if (!(await write({ next, seen: row.version }))) return "conflict";
  // A redialed or cancelled call turns out placed, so somebody may be phoned twice.
  if (state === "PLACED" && ["REDIALED", "CANCELLED"].includes(row.state)) {
    deps.log("alarm", "call.placed_late", { call_id: id, state: row.state });
  }
  return "written";
}

/** Sends a settlement to the queue, for a later delivery to write. */
export async function sendOutcome(
  settlement: Settlement,
  delaySeconds: number,
  { queue, log }: Pick<DialerDeps, "queue" | "log">,
): Promise<"written" | "lost"> {
  try {
    await queue.send({ kind: "outcome", settlement }, delaySeconds);
    return "written";
  } catch (error) {
    log("alarm", "queue.unreachable", { call_id: settlement.id, error: errorForLog(error) });
    return "lost";
  }
}

/** Writes the settlement of an `outcome` message. @throws if the ledger fails: the message is then retried */
export async function settleOutcome(
  settlement: Settlement,
  deps: Pick<DialerDeps, "ledger" | "documents" | "clock" | "random" | "log" | "memory">,
): Promise<void> {
  const { ledger, random, log } = deps;
  const { id: call_id, state, reason } = settlement;
  const write: WriteRow = async (change) => (await ledger.write([change]))[0] === true;
  await retry(
    async () => {
      const row = requireReadable((await ledger.read([call_id])).get(call_id));
      const version = random.version();
      const result =
        row === undefined || hadAnswer(row, settlement)
          ? "refused"
          : await writeSettlement(row, { settlement, version, write }, deps);
      if (result === "conflict") throw new ConflictError("a call was changed by others each time");
      const event = result === "written" ? "call.settled_late" : "call.settlement_refused";
      log("warning", event, { call_id, state, reason });
    },
    onConflict(conflictsMax + 1),
  );
}
