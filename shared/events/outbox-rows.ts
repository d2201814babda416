import type { ClientReceiver, Receiver } from "../dial-plan/receivers.ts";
import {
  type CallEvent,
  type CallEventType,
  type DeliveryState,
  firstDueOf,
  isCounted,
  applyDelivery,
  type Tried,
} from "../calls/call-event.ts";
import type { CallResult } from "../calls/call-result.ts";
import type { CallRow } from "../calls/call-row.ts";
import { isLaterTry, triesLeft } from "../calls/chain.ts";
import { type CallState, states, statesWhere } from "../calls/states.ts";
import { indexOf, requestIdOf } from "../calls/ids.ts";
import { leastSequenceOf } from "../calls/lost-time.ts";
import { hasEnded } from "../calls/ended.ts";
import {
  indexClientReceiverEvents,
  clientReceiverDeliveryOf,
  withClientReceiverDelivery,
} from "./client-receiver-events.ts";
import {
  toHeadersView,
  toResultView,
  toTestView,
  toSplitView,
  toCallBackView,
} from "../calls/views.ts";
import type { ResultView } from "../calls/view-schemas.ts";
import type { Write } from "../calls/transitions.ts";
import { dayMs } from "../lib/units.ts";

/** Names the list of rows with pending events of a receiver. */
export function pendingOf(receiver: string): string {
  return `events:${receiver}`;
}

/** Names the list of rows with events of a receiver whose tries are exhausted. */
export function exhaustedOf(receiver: string): string {
  return `exhausted:${receiver}`;
}

/**
 * Time after its retention for which a row with pending events, or of a call that is not over, is stored. Tries take three
 * days, so such a receiver has failed for long or is no longer in the plan.
 */
export const pendingKeptMs = 90 * dayMs;

/** True if a row has events that are still to be delivered. */
function isPending({ deliverTo }: Pick<CallRow, "deliverTo">): boolean {
  return deliverTo !== null && deliverTo.startsWith(pendingOf(""));
}

/**
 * True if a row is stored for longer than its retention: it has pending events, or its call or result is still to come, as
 * of a call-back that was promised before the retention was lowered.
 */
export function outlivesRetention(row: Pick<CallRow, "deliverTo" | "state" | "dueAt">): boolean {
  return isPending(row) || (row.dueAt !== null && awaitedStates.includes(row.state));
}

/** States of calls that wait to be dialed or for their results. An unresolved call is purged with an alarm instead. */
export const awaitedStates = /* @__PURE__ */ statesWhere(
  ({ lane, purge }) => lane !== null && purge !== "alarm",
);

/**
 * Adds a call's new events to its row, as part of the row's write. They are derived from the row alone, so that a
 * repeated write adds the same events.
 *
 * @param receiver the dial plan's receiver. Undefined: there is none
 * @param own the client's own receivers, which get no event from before they were made
 */
export function withEvents(
  row: CallRow,
  receiver: Receiver | undefined,
  own: readonly ClientReceiver[] = [],
): CallRow {
  if (receiver === undefined && own.length === 0) return row;
  let { events } = row;
  let hasOwn = false;
  for (const one of happenedTo(row)) {
    const index = events.findIndex((event) => isSame(event, one));
    const known = events[index];
    const isForPlan = known === undefined || known.clientReceiversOnly === true;
    const isPlans = isForPlan && receiver?.types.includes(one.type) === true;
    const names = own.flatMap(({ types, own: { name, createdAt } }) => {
      const isKnown = known !== undefined && clientReceiverDeliveryOf(known, name) !== undefined;
      // An event has the time at which it first happened, by which `withoutGone` judges it too.
      const isLater = createdAt <= (known ?? one).at;
      return types.includes(one.type) && isLater && !isKnown ? name : [];
    });
    if (!isPlans && names.length === 0) continue;
    let event = known ?? createEvent({ ...row, events }, one);
    if (isPlans) event = { ...event, clientReceiversOnly: undefined, dueAt: one.at };
    for (const name of names) event = withClientReceiverDelivery(event, name, { dueAt: one.at });
    events = known === undefined ? [...events, event] : events.with(index, event);
    hasOwn ||= names.length > 0;
  }
  if (events === row.events) return row;
  const next = { ...row, events };
  const indexed = receiver === undefined ? next : indexEvents(next, receiver.name);
  return hasOwn ? indexClientReceiverEvents(indexed) : indexed;
}

/** Returns a new event that no receiver gets yet. */
function createEvent(row: CallRow, { type, at, status }: Happened): CallEvent {
  const { state, reason, attempt, result, events } = row;
  const answeredAt = result?.answeredAt ?? undefined;
  return {
    type,
    sequence: Math.max(leastSequenceOf(row), (events.at(-1)?.sequence ?? 0) + 1),
    at,
    state,
    reason,
    attempt,
    ...(status === undefined ? {} : { status }),
    ...(aboutResults.has(type) && answeredAt !== undefined ? { answeredAt } : {}),
    ...(row.tries === undefined ? {} : { triesLeft: triesLeft(row) }),
    ...(row.callBack !== undefined && toldOfCallBacks.has(type) ? { callBack: row.callBack } : {}),
    clientReceiversOnly: true,
  };
}

interface Happened extends Pick<CallEvent, "at" | "status"> {
  type: CallEventType;
  state: CallState;
}

/** Returns everything that has happened to a call, by its row, in order. */
function happenedTo(row: CallRow): Happened[] {
  const { state, result, updatedAt, optedOut, callBack } = row;
  const { type, at: since } = stepOf(row);
  const isAnswered = result !== null && wasAnswered(result);
  const isEnded = result !== null && result.status !== "live";
  const at = result?.readAt ?? updatedAt;
  return [
    ...(type === undefined ? [] : [{ type, state, at: since }]),
    ...(isAnswered ? [{ type: "call.answered" as const, state, at }] : []),
    ...(isEnded ? [{ type: "call.ended" as const, state, at, status: result.status }] : []),
    ...(optedOut ? [{ type: "call.opt_out" as const, state, at: updatedAt }] : []),
    ...(callBack === undefined ? [] : [{ type: "call.call_back" as const, state, at: updatedAt }]),
  ];
}

/** True if a person or a machine answered. The record of an ended call may be the first that shows the answer. */
function wasAnswered({ status, answered, answeredAt }: CallResult): boolean {
  const isByEnd = status === "completed" || status === "voicemail";
  return answered === true || answeredAt !== null || isByEnd;
}

/** True for an event that a row already has. A call may end twice: as `unknown`, and as its provider reports later. */
function isSame(known: CallEvent, { type, state, status }: Happened): boolean {
  if (known.type !== type) return false;
  return type === "call.ended"
    ? known.status === status
    : isOnce.has(type) || known.state === state;
}

const isOnce: ReadonlySet<CallEventType> = new Set([
  "call.answered",
  "call.opt_out",
  "call.call_back",
]);

const toldOfCallBacks: ReadonlySet<string> = new Set<CallEventType>([
  "call.ended",
  "call.call_back",
]);

/**
 * Returns the event of the step that led to a row's state, and its time. An operator's decision about a call in
 * review is `call.reviewed`. Later steps in the same state, such as a second end, have no event.
 */
function stepOf({ state, history, updatedAt }: CallRow): { type?: CallEventType; at: number } {
  const before = history.findLastIndex((one) => one.state !== state);
  const { at = updatedAt, by } = history[before + 1] ?? {};
  const isDecided = by !== undefined && history[before]?.state === "NEEDS_REVIEW";
  const type = isDecided ? "call.reviewed" : states[state].event;
  return type === null ? { at } : { type, at };
}

/** The deliveries to one receiver: its name, and of a client's own receiver `own`, its name among the client's. */
interface DeliveriesTo {
  receiver: string;
  own?: string | undefined;
}

/**
 * Applies the outcomes of deliveries to a row's events.
 *
 * @param tried by the events' sequences
 * @returns undefined if no outcome concerns the row's current events
 */
export function applyDeliveries(
  row: CallRow,
  { tried, ...to }: DeliveriesTo & { tried: ReadonlyMap<number, Tried> },
  { version, at }: Write,
): CallRow | undefined {
  return changeDeliveries({ ...row, version }, to, (event, state) => {
    const one = tried.get(event.sequence);
    const isDone = one !== undefined && isCounted(state, one);
    return isDone ? applyDelivery(state, one.outcome, at) : undefined;
  });
}

/** Makes delivered or exhausted events of a row pending again, as if new. Undefined if the row has no such event. */
export function replayRow(
  row: CallRow,
  { isWanted, ...to }: DeliveriesTo & { isWanted(event: CallEvent): boolean },
  { version, at }: Write,
): CallRow | undefined {
  return changeDeliveries({ ...row, version }, to, (event, { dueAt }) =>
    dueAt === undefined && isWanted(event)
      ? { tries: undefined, exhausted: undefined, dueAt: at }
      : undefined,
  );
}

/**
 * Changes the states of an event's deliveries to one receiver, and the row's key in the index of these.
 *
 * @param change returns a new state, or undefined to leave it
 * @returns undefined if every state was left
 */
function changeDeliveries(
  row: CallRow,
  { receiver, own }: DeliveriesTo,
  change: (event: CallEvent, state: DeliveryState) => DeliveryState | undefined,
): CallRow | undefined {
  const events = row.events.map((event) => {
    const state = deliveryOf(event, own);
    const next = state && change(event, state);
    if (next === undefined) return event;
    return own === undefined ? { ...event, ...next } : withClientReceiverDelivery(event, own, next);
  });
  if (events.every((event, index) => event === row.events[index])) return undefined;
  const changed = { ...row, events };
  return own === undefined ? indexEvents(changed, receiver) : indexClientReceiverEvents(changed);
}

/**
 * Returns the state of an event's delivery to the dial plan's receiver or, by its name, a client's own one. Undefined:
 * it does not get the event.
 */
export function deliveryOf(event: CallEvent, own: string | undefined): DeliveryState | undefined {
  if (own !== undefined) return clientReceiverDeliveryOf(event, own);
  return event.clientReceiversOnly === true ? undefined : event;
}

/** Sets the row's key in the index of events: pending or exhausted ones of a receiver. */
export function indexEvents(row: CallRow, receiver: string): CallRow {
  const deliverAt = firstDueOf(row.events);
  if (deliverAt !== undefined) return { ...row, deliverTo: pendingOf(receiver), deliverAt };
  const last = row.events.findLast(({ exhausted }) => exhausted === true);
  if (last === undefined) return { ...row, deliverTo: null, deliverAt: null };
  return { ...row, deliverTo: exhaustedOf(receiver), deliverAt: last.at };
}

/** Returns the id of an event: the call's id, a dot and the sequence; of a finished request `finishedEventIdOf`. */
export function eventIdOf({ id }: Pick<CallRow, "id">, { sequence, data }: CallEvent): string {
  return data === undefined ? `${id}.${sequence}` : finishedEventIdOf(requestIdOf(id));
}

/** Returns the id of a request's `request.finished`, of which there is one. */
export function finishedEventIdOf(requestId: string): string {
  return `${requestId}.finished`;
}

/** The body of an event, as it is posted. */
export interface EventBody {
  type: string;
  /** ISO 8601. */
  timestamp: string;
  data: Record<string, unknown>;
}

/** The fields of a row that its events contain. */
type EventSubject = Pick<
  CallRow,
  | "id"
  | "agentId"
  | "notBefore"
  | "isUrgent"
  | "labels"
  | "split"
  | "traceparent"
  | "echo"
  | "result"
  | "tries"
  | "next"
> &
  Partial<Pick<CallRow, "ancestors" | "mode">>;

/** Returns the body of an event, which is the same for each try. It never has the number. */
export function bodyOf(row: EventSubject, event: CallEvent): EventBody {
  const { type, sequence, at, state, reason, attempt, data } = event;
  const { id, agentId, echo, tries, traceparent } = row;
  if (data !== undefined) return { type, timestamp: new Date(at).toISOString(), data };
  // Clients know a try by the call that they posted.
  const posted = (isLaterTry(row) ? row.ancestors?.[0] : undefined) ?? id;
  return {
    type,
    timestamp: new Date(at).toISOString(),
    data: {
      id,
      request_id: requestIdOf(posted),
      index: indexOf(posted),
      sequence,
      agent_id: agentId,
      ...toHeadersView(row),
      ...toSplitView(row),
      ...(traceparent === undefined ? {} : { traceparent }),
      state,
      reason,
      attempt,
      result: resultOf(row, event),
      echo: echo ?? {},
      ...toTestView({ mode: row.mode }),
      ...(tries === undefined ? {} : { try: tries.number, tries_left: event.triesLeft ?? 0 }),
      ...(event.callBack === undefined
        ? {}
        : { call_back: toCallBackView({ callBack: event.callBack, next: row.next }) }),
    },
  };
}

/**
 * Returns the result as known at the time of the event. Only a reported end stays in the row unchanged; before the
 * end, the row's result may have changed since.
 */
function resultOf({ result }: EventSubject, event: CallEvent): ResultView | null {
  const { type, status = "live", answeredAt = null } = event;
  if (result === null || !aboutResults.has(type)) return null;
  if (hasEnded(result) && status === result.status) return toResultView(result);
  const nothing = { human: null, word: null, endedAt: null, seconds: null };
  return toResultView({ ...nothing, status, answeredAt });
}

const aboutResults: ReadonlySet<string> = new Set<CallEventType>(["call.answered", "call.ended"]);
