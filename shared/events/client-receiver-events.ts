import { type CallEvent, type DeliveryState, firstDueOf } from "../calls/call-event.ts";
import type { CallRow } from "../calls/call-row.ts";
import { realClientOf } from "../calls/ids.ts";
import { echoOf, type ClientReceiver, unreadName } from "../dial-plan/receivers.ts";
import { clientReceiverName } from "../ports/receiver-kinds.ts";

/**
 * Events of calls for the receivers that clients have made themselves. An event stores the state of its delivery to
 * each of them beside that to the dial plan's receiver, so that none waits for another.
 */

/** Maximum entries of a context that all own receivers of a client name, and that a row keeps for them. */
export const echoKeysMax = 10;

/** Returns the state of an event's delivery to an own receiver. Undefined: it does not get the event. */
export function clientReceiverDeliveryOf(
  { to = {} }: CallEvent,
  name: string,
): DeliveryState | undefined {
  return Object.hasOwn(to, name) ? to[name] : undefined;
}

/** Sets the state of an event's delivery to an own receiver. */
export function withClientReceiverDelivery(
  event: CallEvent,
  name: string,
  state: DeliveryState,
): CallEvent {
  return { ...event, to: { ...event.to, [name]: { ...state } } };
}

/** Names the list of rows with pending events of several own receivers of a client. */
export function sharedListOf(client: string): string {
  return clientReceiverName({ client, name: "" });
}

/**
 * Sets the row's key in the index of own receivers' events: the list of the one receiver with pending events, or, if
 * there are several, a list that the client's receivers share. So a receiver that is away fills its own list alone.
 *
 * @param lookAt time at which a sweep is to look at a row of a shared list. Default: the earliest due time
 */
export function indexClientReceiverEvents(row: CallRow, lookAt?: number): CallRow {
  const client = realClientOf(row);
  const due = Map.groupBy(
    row.events.flatMap(({ to = {} }) => Object.entries(to)).filter(([, one]) => one.dueAt != null),
    ([name]) => name,
  );
  const names = [...due.keys()];
  const clientReceiverAt = firstDueOf([...due.values()].flat().map(([, state]) => state));
  if (clientReceiverAt === undefined)
    return { ...row, clientReceiverTo: undefined, clientReceiverAt: undefined };
  const [name = ""] = names;
  if (names.length === 1)
    return { ...row, clientReceiverTo: clientReceiverName({ client, name }), clientReceiverAt };
  return {
    ...row,
    clientReceiverTo: sharedListOf(client),
    clientReceiverAt: Math.max(clientReceiverAt, lookAt ?? clientReceiverAt),
  };
}

/** Returns the full names of the own receivers for which events of a row are pending, each with the row's id. */
export function clientReceiverNamesOf(row: Pick<CallRow, "id" | "client" | "mode" | "events">) {
  const client = realClientOf(row);
  const pending = row.events.flatMap(({ to = {} }) =>
    Object.entries(to).flatMap(([name, { dueAt }]) => (dueAt === undefined ? [] : name)),
  );
  return [...new Set(pending)].map((name) => ({
    id: row.id,
    to: clientReceiverName({ client, name }),
  }));
}

/** Returns what a call's own receivers repeat of its context, apart from what the plan's repeats. */
export function createClientReceiverEcho(
  context: Record<string, string> | undefined,
  { echo, own }: { echo: CallRow["echo"]; own: readonly ClientReceiver[] },
): Pick<CallRow, "clientReceiverEcho"> {
  const planned = echo ?? {};
  const keys = own.flatMap((one) => one.echo).filter((key) => !Object.hasOwn(planned, key));
  const clientReceiverEcho = echoOf(context, { echo: [...new Set(keys)].slice(0, echoKeysMax) });
  return clientReceiverEcho === null ? {} : { clientReceiverEcho };
}

/** Returns what an own receiver's events repeat of a call's context: the entries that the receiver names. */
export function clientReceiverEchoOf(
  { echo, clientReceiverEcho }: Pick<CallRow, "echo" | "clientReceiverEcho">,
  receiver: Pick<ClientReceiver, "echo">,
): Record<string, string> | null {
  return echoOf({ ...echo, ...clientReceiverEcho }, receiver);
}

/**
 * Drops a row's deliveries to own receivers that were removed, and of events from before a receiver was made, as these
 * were of a removed one of its name. Those to unreadable receivers are of all that want the event, once they are read.
 *
 * @returns the row itself if there are none
 */
export function withoutGone(row: CallRow, own: readonly ClientReceiver[]): CallRow {
  const isGone = ({ at }: CallEvent, name: string) =>
    !own.some((one) => one.own.name === name && one.own.createdAt <= at);
  const takersOf = ({ type, at }: CallEvent) =>
    own.filter((one) => one.types.some((wanted) => wanted === type) && one.own.createdAt <= at);
  let hasGone = false;
  const events = row.events.map((event): CallEvent => {
    const { to = {} } = event;
    const states = Object.entries(to);
    const kept = states.filter(([name, { dueAt }]) => dueAt === undefined || !isGone(event, name));
    if (kept.length === states.length) return event;
    hasGone = true;
    const unread = Object.hasOwn(to, unreadName) ? to[unreadName] : undefined;
    const takers = unread === undefined ? [] : takersOf(event);
    const added = takers.map((one) => [one.own.name, { ...unread }] as const);
    return { ...event, to: Object.fromEntries([...added, ...kept]) };
  });
  return hasGone ? indexClientReceiverEvents({ ...row, events }) : row;
}
