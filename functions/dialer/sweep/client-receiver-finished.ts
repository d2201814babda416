import { unreadable } from "#shared/ports/unreadable.ts";
import type { CallEvent } from "#shared/calls/call-event.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { clientNamed, realClientOf, toCallId } from "#shared/calls/ids.ts";
import {
  clientReceiversOf,
  readClientReceivers,
  sendDeliverMessages,
} from "#shared/events/outbox-ledger.ts";
import type { ClientReceiver } from "#shared/dial-plan/receivers.ts";
import {
  indexClientReceiverEvents,
  withClientReceiverDelivery,
} from "#shared/events/client-receiver-events.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { clientReceiverDepsOf } from "../events/client-receivers.ts";
import { finishedDataOf } from "../events/request-finished.ts";

const type = "request.finished";
type RequestDocument = StoredDocument<"request">;

/**
 * Writes `request.finished` for the clients' own receivers into the rows of the requests' first calls, from which it
 * is delivered like the calls' events. So a request that waits for such a receiver is no longer tracked.
 *
 * @returns the requests that are done with. For the others another write of the row came first, or nothing can be delivered yet:
 * they are finished again later
 */
export async function finishForClientReceivers(
  requests: readonly RequestDocument[],
  deps: RowDeps & Pick<DialerDeps, "eventsQueue">,
): Promise<Set<string>> {
  const { ledger, random } = deps;
  if (requests.length === 0) return new Set();
  const own = clientReceiverDepsOf(deps);
  await readClientReceivers(
    requests.map(({ value }) => clientNamed(value.client)),
    own,
  );
  const wantedBy = ({ value }: RequestDocument) =>
    clientReceiversOf(clientNamed(value.client), own).filter(({ types }) => types.includes(type));
  // Without the request's document nobody would ever finish it for receivers that only a later version can read.
  const known = requests.filter(
    ({ value: { client, clientReceiversOnly } }) =>
      clientReceiversOnly !== true ||
      own.knownReceivers.get(realClientOf(clientNamed(client)))?.isUnreadable !== true,
  );
  const done = new Set(known.filter((one) => wantedBy(one).length === 0).map(({ key }) => key));
  const wanted = known.filter(({ key }) => !done.has(key));
  const rows = await ledger.read(wanted.map(firstCallOf));
  const changes = wanted.flatMap((request) => {
    const row = rows.get(firstCallOf(request));
    if (row === unreadable) return []; // a later version finishes the request
    // A run that died after this write, or an operator's replay to the plan's receiver, finishes the request again.
    if (row === undefined || row.events.some((event) => event.type === type)) {
      done.add(request.key);
      return [];
    }
    const next = { ...withFinished(row, request, wantedBy(request)), version: random.version() };
    return { request, next, seen: row.version };
  });
  if (changes.length === 0) return done;
  const written = await ledger.write(changes.map(({ next, seen }) => ({ next, seen })));
  const made = changes.filter((_, index) => written[index] === true);
  await sendDeliverMessages(made, deps);
  for (const { request } of made) done.add(request.key);
  return done;
}

function firstCallOf({ key }: RequestDocument): string {
  return toCallId(key, 0);
}

function withFinished(
  row: CallRow,
  request: RequestDocument,
  receivers: readonly ClientReceiver[],
): CallRow {
  const { state, reason, attempt } = row;
  const at = request.value.finishedAt ?? 0;
  const sequence = (row.events.at(-1)?.sequence ?? 0) + 1;
  const data = finishedDataOf(request);
  let event: CallEvent = {
    type,
    sequence,
    at,
    state,
    reason,
    attempt,
    data,
    clientReceiversOnly: true,
  };
  for (const { own: to } of receivers)
    event = withClientReceiverDelivery(event, to.name, { dueAt: at });
  return indexClientReceiverEvents({ ...row, events: [...row.events, event] });
}
