import { callOf } from "../../../shared/calls/call-row.ts";
import type { EventMessage } from "../../../shared/queue/event-messages.ts";
import type { DialerDeps } from "../context.ts";
import { findNow } from "../look-up.ts";
import { askNow } from "./ask.ts";
import { followSigned } from "./signed-callback.ts";

/**
 * Follows a provider's callback about one claim of a call. The callback is a hint, as anybody who sees its address
 * can send it: the provider's record, read with the account's secrets, is what counts. A call whose outcome is not
 * known is looked up first. What a callback says of another claim is dropped.
 *
 * @throws if the provider or the ledger could not be asked; the sweep asks later, too
 */
export async function followCallback(
  message: Extract<EventMessage, { kind: "callback" }>,
  deps: DialerDeps,
): Promise<void> {
  const { ledger, settings } = deps;
  if (settings.plan.results === undefined) return;
  if (message.signed !== undefined) return followSigned(message, deps);
  const { call, account } = message;
  const id = call?.id ?? message.callId;
  if (id === undefined) return;
  const read = async () => (await ledger.read([id])).rows.get(id);
  let row = await read();
  if (row === undefined || row.route?.provider !== account) return;
  if (call !== undefined && !row.claims.includes(call.claim)) return;
  if (row.state !== "PLACED") {
    const { route, claimedAt } = row;
    const known = callOf(row);
    if (route === null || claimedAt === null || known === undefined) return;
    const sought = { ...row, route, claimedAt };
    await findNow({ kind: "look_up", call: known, row: sought, orReview: false }, deps);
    row = await read();
  }
  if (row !== undefined) await askNow(row, deps);
}
