import { type CallRow, callOf } from "../../../shared/calls/call-row.ts";
import type { AckOrRetry } from "../../../shared/queue/call-queue.ts";
import type { EventMessage } from "../../../shared/queue/event-messages.ts";
import type { DialerDeps } from "../context.ts";
import { findNow } from "../look-up.ts";
import { askNow } from "./ask.ts";
import { heldSeconds, perhapsPlaced } from "./perhaps-placed.ts";
import { followSigned } from "./signed-callback.ts";

/**
 * Follows a provider's callback about one claim of a call. The callback is a hint, as anybody who sees its address
 * can send it: the provider's record, read with the account's secrets, is what counts. A call whose outcome is not
 * known is looked up first. A call that is being dialed is left to its holder. What a callback says of another claim is
 * dropped.
 *
 * @throws UnansweredError if the provider could not be asked; the sweep asks later, too
 * @throws if the ledger could not be asked
 */
export async function followCallback(
  message: Extract<EventMessage, { kind: "callback" }>,
  deps: DialerDeps,
): Promise<AckOrRetry> {
  const { ledger, settings } = deps;
  if (settings.plan.results === undefined) return "ack";
  if (message.signed !== undefined) return followSigned(message, deps);
  const { call, account } = message;
  const id = call?.id ?? message.callId;
  if (id === undefined) return "ack";
  const read = async () => (await ledger.read([id])).rows.get(id);
  let row = await read();
  if (row === undefined || row.route?.provider !== account) return "ack";
  if (call !== undefined && !row.claims.includes(call.claim)) return "ack";
  if (row.state === "DIALING") return { retryAfterSeconds: heldSeconds };
  if (perhapsPlaced.has(row.state)) {
    await lookUpNow(row, deps);
    row = await read();
  }
  if (row !== undefined) await askNow(row, deps);
  return "ack";
}

async function lookUpNow(row: CallRow, deps: DialerDeps): Promise<void> {
  const { route, claimedAt } = row;
  const call = callOf(row);
  if (route === null || claimedAt === null || call === undefined) return;
  const sought = { ...row, route, claimedAt };
  await findNow({ kind: "look_up", call, row: sought, orReview: false }, deps);
}
