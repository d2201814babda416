import { type CallEvent, eventTypes, type Telling } from "../../../shared/calls/call-event.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import {
  eventIdOf,
  finishedEventIdOf,
  untoldOf,
  usedUpOf,
} from "../../../shared/events/outbox-rows.ts";
import { type Receiver, receiverNamed, receiverOf } from "../../../shared/dial-plan/receivers.ts";
import { receiverBreakerOf } from "../../../shared/policy/breakers.ts";
import type { StoredDocument } from "../../../shared/ports/documents.ts";
import * as z from "../../../shared/lib/zod.ts";
import type { RouteDeps } from "../http/context.ts";
import { problem } from "../http/problem.ts";
import { declareRoute } from "../http/route.ts";
import { duePlaceSchema, opaqueCursorOf, opaqueCursorTo } from "../http/cursors.ts";
import { anyName, endOfTime, limit, nextCursor, time, timeOf } from "../http/fields.ts";

/** Maximum calls of a receiver that are counted. */
const usedUpMost = 100;
/** Requests that one answer looks through for those whose tries are used up. */
const scanRequestsMax = 500;

const receiverViewSchema = z
  .strictObject({
    name: z
      .string()
      .check(z.describe("A client, or `*` for every client without a receiver of its own")),
    origin: z.string().check(z.describe("Of its URL, whose path may be a secret")),
    types: z.array(z.enum(eventTypes)),
    breaker: z
      .nullable(z.strictObject({ code: z.string(), opened_at: time, probe_at: time }))
      .check(z.describe("Its circuit breaker; null while it is closed")),
    oldest_due_at: z
      .nullable(time)
      .check(
        z.describe(
          "When the first event that is due was to be told; null where none of a call is due",
        ),
      ),
    used_up_calls: z
      .int()
      .check(
        z.describe(
          "How many calls have events whose tries are used up, counted up to `used_up_most`",
        ),
      ),
  })
  .check(
    z.meta({ id: "Receiver", description: "A receiver of events, as the dial plan names it." }),
  );
type ReceiverView = z.infer<typeof receiverViewSchema>;

const usedUpSchema = z
  .strictObject({
    id: z.string().check(z.describe("Of a call, or of a request that is finished")),
    client: z.string(),
    events: z.array(z.strictObject({ id: z.string(), type: z.string(), at: time, tries: z.int() })),
  })
  .check(
    z.meta({
      id: "UsedUp",
      description: "Events that a receiver did not take within their tries.",
    }),
  );
export type UsedUp = z.infer<typeof usedUpSchema>;

const eventsSchema = z.strictObject({
  receivers: z.array(receiverViewSchema),
  used_up_most: z.int(),
  used_up: z
    .optional(z.array(usedUpSchema))
    .check(
      z.describe(
        "With `receiver`: calls of which nothing else is to be told, the longest untold first, and then requests. A page may be short, or empty, and still have a `cursor`",
      ),
    ),
  cursor: nextCursor,
});
export type Events = z.infer<typeof eventsSchema>;

/** The position at which a list goes on: behind a call, or, where there are no more calls, behind a request. */
const placeSchema = z.union([
  z.strictObject({ after: duePlaceSchema }),
  z.strictObject({ request: z.string() }),
]);
type UsedUpPlace = z.infer<typeof placeSchema>;

const listEvents = declareRoute({
  operationId: "listEvents",
  summary: "Receivers of events, and what they have not been told",
  method: "get",
  path: "/events",
  query: z
    .strictObject({
      receiver: z.optional(anyName).check(z.describe("A name: lists what is used up of this one")),
      cursor: z.optional(opaqueCursorTo(placeSchema)),
      limit,
    })
    .check(
      z.refine(({ receiver, cursor }) => cursor === undefined || receiver !== undefined, {
        path: ["cursor"],
        error: "needs a receiver beside it",
      }),
    ),
  answer: eventsSchema,
  problems: [404],
  async handle({ c, deps, query }) {
    const { plan } = deps;
    const names = query.receiver === undefined ? Object.keys(plan.events ?? {}) : [query.receiver];
    const receivers = names.flatMap((name) => receiverNamed(name, plan) ?? []);
    const views = { receivers: await viewsOf(receivers, deps), used_up_most: usedUpMost };
    if (query.receiver === undefined) return views;
    const [receiver] = receivers;
    if (receiver === undefined) return problem(c, 404, "The dial plan has no such receiver.");
    const { usedUp, next } = await usedUpAfter(query.cursor, receiver, query.limit, deps);
    return {
      ...views,
      used_up: usedUp,
      ...(next === undefined ? {} : { cursor: opaqueCursorOf(next) }),
    };
  },
});

export const eventRoutes = [listEvents];

async function viewsOf(
  receivers: readonly Receiver[],
  { ledger, documents, clock }: RouteDeps,
): Promise<ReceiverView[]> {
  if (receivers.length === 0) return [];
  const keys = receivers.map(
    ({ name }) => ({ kind: "breaker", key: receiverBreakerOf(name) }) as const,
  );
  const lists = (keyOf: (name: string) => string) =>
    receivers.map(({ name }) => ({ key: keyOf(name) }));
  const [breakers, due, usedUp] = await Promise.all([
    documents.read(keys),
    ledger.due({ of: "events", backlogs: lists(untoldOf), until: clock.now(), each: 1 }),
    ledger.due({ of: "events", backlogs: lists(usedUpOf), until: endOfTime, each: usedUpMost }),
  ]);
  return receivers.map(({ name, url, types }, index) => {
    const breaker = breakers.get("breaker", receiverBreakerOf(name))?.value;
    return {
      name,
      origin: new URL(url).origin,
      types,
      breaker:
        breaker?.state === "open"
          ? {
              code: breaker.code,
              opened_at: timeOf(breaker.openedAt),
              probe_at: timeOf(breaker.probeAt),
            }
          : null,
      oldest_due_at: timeOf(due[index]?.[0]?.dueAt ?? null),
      used_up_calls: usedUp[index]?.length ?? 0,
    };
  });
}

interface UsedUpPage {
  usedUp: UsedUp[];
  /** Where more may follow. */
  next?: UsedUpPlace | undefined;
}

async function usedUpAfter(
  place: UsedUpPlace | undefined,
  receiver: Receiver,
  most: number,
  deps: RouteDeps,
): Promise<UsedUpPage> {
  if (place !== undefined && "request" in place) {
    return usedUpRequests(place.request, receiver, most, deps);
  }
  const { ledger } = deps;
  const backlogs = [{ key: usedUpOf(receiver.name), after: place?.after }];
  const [places = []] = await ledger.due({ of: "events", backlogs, until: endOfTime, each: most });
  const { rows } = await ledger.read(places.map(({ id }) => id));
  const usedUp = places.flatMap(({ id }) => {
    const row = rows.get(id);
    return row === undefined ? [] : usedUpOfCall(row);
  });
  const last = places.at(-1);
  if (last !== undefined && places.length === most) return { usedUp, next: { after: last } };
  const requests = await usedUpRequests(undefined, receiver, most - places.length, deps);
  return { usedUp: [...usedUp, ...requests.usedUp], next: requests.next };
}

/** Looks for requests that are finished, and whose tries to say so are used up. */
async function usedUpRequests(
  after: string | undefined,
  receiver: Receiver,
  most: number,
  { documents, plan }: RouteDeps,
): Promise<UsedUpPage> {
  const listed = await documents.list("request", { after, limit: scanRequestsMax });
  const usedUp: UsedUp[] = [];
  for (const request of listed) {
    const { client, usedUp: isUsedUp } = request.value;
    if (isUsedUp !== true || receiverOf(client, plan)?.name !== receiver.name) continue;
    usedUp.push(usedUpOfRequest(request));
    if (usedUp.length === most) return { usedUp, next: { request: request.key } };
  }
  const last = listed.at(-1);
  const isMore = listed.length === scanRequestsMax && last !== undefined;
  return { usedUp, ...(isMore ? { next: { request: last.key } } : {}) };
}

function usedUpOfCall(row: CallRow): UsedUp[] {
  const events = row.events.filter(({ usedUp }) => usedUp === true);
  // The index lags behind its table: the events may have been replayed since.
  if (events.length === 0) return [];
  const viewOf = (event: CallEvent) => triedView(eventIdOf(row, event), event.type, event);
  return [{ id: row.id, client: row.client, events: events.map(viewOf) }];
}

function usedUpOfRequest({ key, value }: StoredDocument<"request">): UsedUp {
  const { client, finishedAt, acceptedAt, tries } = value;
  const event = { at: finishedAt ?? acceptedAt, tries };
  return {
    id: key,
    client,
    events: [triedView(finishedEventIdOf(key), "request.finished", event)],
  };
}

function triedView(
  id: string,
  type: string,
  { at, tries = 0 }: { at: number } & Pick<Telling, "tries">,
): UsedUp["events"][number] {
  return { id, type, at: timeOf(at), tries };
}
