import { requireReadable } from "#shared/ports/unreadable.ts";
import { findCallId } from "#shared/calls/ids.ts";
import { type CallRow, toCall } from "#shared/calls/call-row.ts";
import { states } from "#shared/calls/states.ts";
import type { AckOrRetry } from "#shared/ports/queue.ts";
import { type EventMessage, isHint } from "#shared/ports/event-messages.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { findNow } from "../look-up/look-up-calls.ts";
import { pollNow } from "./poll-call.ts";
import { doubtRelease } from "#shared/calls/lost-claim.ts";
import type { Write } from "#shared/calls/transitions.ts";
import { countAgain } from "../record/count-again.ts";
import { changeRows } from "../record/change-rows.ts";
import { unknownDueAt } from "../record/due-times.ts";
import { awaitHolder } from "./await-holder.ts";
import { followSigned } from "./signed-callback.ts";
import { minuteMs } from "#shared/lib/units.ts";

/** Deliveries after which a callback that is a hint is dropped, as sweeps have the account polled anyway. */
export const hintAttemptsMax = 3;
/** Duration of a look-up and a record after which an account's callbacks wait, and for how long. */
const slowMs = 2_500;
const restMs = minuteMs;

/**
 * Handles a provider's callback about one claim of a call. The callback is a hint, as anybody who sees its URL can
 * send it; only the provider's record, read with the account's secrets, counts. A call of unknown outcome is looked
 * up first, also if a restore of the ledger has lost the callback's claim, and so is a call that ended as not placed: an
 * operator may redial it. A call that is being dialed is left to its holder.
 * A call that waits again after the callback's claim is no longer dialed, but looked up or reviewed: the claim's code in
 * the callback's address was only in a request of which the provider said that it placed nothing.
 * A callback about another claim of any other call is dropped. While an account's records do not answer soon, its
 * callbacks wait unread: they would take every place of the queue from events and signed opt-outs.
 *
 * @throws ProviderUnreachableError if the provider could not be asked. Sweeps have it polled later, too
 * @throws if the ledger could not be reached, or only a later version can read the row
 */
export async function followCallback(
  message: Extract<EventMessage, { kind: "callback" }>,
  attempt: number,
  deps: DialerDeps,
): Promise<AckOrRetry> {
  const { ledger, settings, clock } = deps;
  // Its opt-out counts, too, in a process whose plan asks for no results, such as one before a deployment.
  const { signed } = message;
  const followed = signed === undefined ? "hint" : await followSigned(message, attempt, deps);
  if (followed !== "hint") return followed;
  if (settings.plan.results === undefined) return "ack";
  const { call, account } = message;
  const id = call?.id ?? message.callId ?? findCallId(signed?.body ?? "");
  if (id === undefined) return "ack";
  const read = async () => requireReadable((await ledger.read([id])).get(id));
  let row = await read();
  if (row === undefined || row.route?.account !== account) return "ack";
  const { placed, open } = states[row.state];
  const isOther = call !== undefined && !row.claims.includes(call.claim);
  const isReleased = call !== undefined && row.released?.includes(call.claim) === true;
  if (isOther && !isReleased && placed !== "perhaps") return "ack";
  if (placed === "now") return awaitHolder(attempt);
  if (call !== undefined && isReleased && row.state === "WAITING") {
    await doubt(row, call.claim, deps);
    return { retryAfterSeconds: 1 };
  }
  const restSeconds = restOf(account, deps);
  if (restSeconds > 0) {
    const isDropped = isHint(message) && attempt >= hintAttemptsMax;
    return isDropped ? "ack" : { retryAfterSeconds: restSeconds };
  }
  const { slowAt } = deps.memory.callbacks;
  const askedAt = clock.now();
  // After the rest one callback tries alone.
  if (slowAt.has(account)) slowAt.set(account, askedAt);
  try {
    const isEnded = placed === "no" && !open;
    if (placed === "perhaps" || isEnded) {
      const { state } = row;
      await lookUpNow(row, deps);
      row = await read();
      if (isEnded && row?.state === "PLACED")
        deps.log("alarm", "call.placed_late", { call_id: id, state });
    }
    if (row !== undefined) await pollNow(row, deps);
  } finally {
    if (clock.now() - askedAt >= slowMs) slowAt.set(account, clock.now());
    else slowAt.delete(account);
  }
  return "ack";
}

/** Returns for how many seconds an account's callbacks wait. */
function restOf(account: string, { memory, clock }: Pick<DialerDeps, "memory" | "clock">): number {
  const slowAt = memory.callbacks.slowAt.get(account) ?? -Infinity;
  return Math.max(0, Math.ceil((slowAt + restMs - clock.now()) / 1000));
}

async function lookUpNow(
  row: CallRow,
  deps: RowDeps & Pick<DialerDeps, "queue" | "sharesStatements">,
): Promise<void> {
  const { route, claimedAt, released = [] } = row;
  const call = toCall(row);
  if (route === null || claimedAt === null || call === undefined) return;
  // The last released claim may have placed the call, whatever its own answer said.
  const claims = row.claims.length > 0 ? row.claims : released.slice(-1);
  const sought = { ...row, claims, route, claimedAt };
  await findNow({ kind: "look_up", call, row: sought, orReview: false }, deps);
}

/**
 * Turns a waiting call UNKNOWN, and counts it again. A row that others have changed is left to the next delivery.
 *
 * @throws if the ledger or the counts could not be reached
 */
async function doubt(
  row: CallRow,
  claim: string,
  deps: RowDeps & Pick<DialerDeps, "sharesStatements">,
): Promise<void> {
  const { route } = row;
  if (route === null) return;
  const giveBack = await countAgain({ row, claim }, route, deps);
  const due = { ...row, unknownSince: null };
  const change = (one: CallRow, write: Write) => {
    const dueAt = unknownDueAt(due, { now: write.at, fraction: 0 }, deps);
    return doubtRelease(one, { claim, dueAt }, write);
  };
  const { changed } = await changeRows([row], change, deps);
  if (changed.length === 0) await giveBack();
}
