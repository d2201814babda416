import type { CallEvent } from "../../../shared/calls/call-event.ts";
import { realClientOf, toCallId } from "../../../shared/calls/ids.ts";
import {
  ownReceiversOf,
  readOwnReceivers,
  sendDeliverMessages,
} from "../../../shared/events/outbox-ledger.ts";
import { indexOwnEvents, withOwnDelivery } from "../../../shared/events/own-events.ts";
import type { StoredDocument } from "../../../shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { ownDepsOf } from "./own-receivers.ts";
import { finishedDataOf } from "./request-finished.ts";

const type = "request.finished";

/**
 * Writes `request.finished` for the client's own receivers into the row of the request's first call, where it is
 * delivered like the call's events. So a request that waits for such a receiver is not among those that sweeps track.
 *
 * @returns false if another write of the row came first, or nobody can be told yet: the next sweep finishes the request
 */
export async function finishForOwn(
  request: StoredDocument<"request">,
  deps: DialerDeps,
): Promise<boolean> {
  const { ledger, random } = deps;
  const { client, finishedAt } = request.value;
  const own = ownDepsOf(deps);
  await readOwnReceivers([client], own);
  const known = own.ownReceivers.get(realClientOf(client));
  // Without the request's document nobody would ever finish it for receivers that only a later version can read.
  if (request.value.ownOnly === true && known?.isUnreadable === true) return false;
  const receivers = ownReceiversOf(client, own).filter(({ types }) => types.includes(type));
  if (receivers.length === 0 || finishedAt === null) return true;
  const id = toCallId(request.key, 0);
  const row = (await ledger.read([id])).rows.get(id);
  // A sweep that died after this write, or an operator's replay to the plan's receiver, finishes the request again.
  if (row === undefined || row.events.some((event) => event.type === type)) return true;
  const { state, reason, attempt } = row;
  const sequence = (row.events.at(-1)?.sequence ?? 0) + 1;
  const data = finishedDataOf(request);
  let event: CallEvent = { type, sequence, at: finishedAt, state, reason, attempt, data };
  event.ownOnly = true;
  for (const { own: to } of receivers)
    event = withOwnDelivery(event, to.name, { dueAt: finishedAt });
  const events = [...row.events, event];
  const next = { ...indexOwnEvents({ ...row, events }), version: random.version() };
  const [isWritten] = await ledger.write([{ next, seen: row.version }]);
  if (isWritten === true) await sendDeliverMessages([{ next }], deps);
  return isWritten === true;
}
