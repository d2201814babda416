import { clientNamed } from "#shared/calls/ids.ts";
import { type CallEvent, eventTypes, type DeliveryState } from "#shared/calls/call-event.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import {
  eventIdOf,
  finishedEventIdOf,
  pendingOf,
  exhaustedOf,
} from "#shared/events/outbox-rows.ts";
import { type Receiver, findReceiverNamed, findReceiver } from "#shared/dial-plan/receivers.ts";
import { receiverBreakerOf } from "#shared/policy/breakers.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import * as z from "#shared/lib/zod.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { answerProblem } from "../api/http/problem.ts";
import { declareRoute } from "../api/http/route.ts";
import { duePositionSchema, toCursor, createCursorSchema } from "../api/http/cursors.ts";
import { findFormerSecrets } from "./former-events-key.ts";
import { anyName, endOfTime, limit, nextCursor, time, toIsoTime } from "../api/http/fields.ts";

/** Maximum counted calls of a receiver. */
const exhaustedMax = 100;
/** Maximum requests that one answer searches for exhausted events. */
const scanRequestsMax = 500;

const receiverViewSchema = z
  .strictObject({
    name: z.string().check(z.describe("A client, or `*` for every client without its own entry")),
    origin: z.string().check(z.describe("Of its URL, whose path may be a secret")),
    types: z.array(z.enum(eventTypes)),
    breaker: z
      .nullable(z.strictObject({ code: z.string(), opened_at: time, probe_at: time }))
      .check(z.describe("Its circuit breaker; null while it is closed")),
    oldest_due_at: z
      .nullable(time)
      .check(
        z.describe(
          "When the first event that is due was to be delivered; null where none of a call is due",
        ),
      ),
    exhausted_calls: z
      .int()
      .check(
        z.describe(
          "How many calls have events whose tries are exhausted, counted up to `exhausted_max`",
        ),
      ),
  })
  .check(
    z.meta({ id: "Receiver", description: "A receiver of events, as the dial plan names it." }),
  );
type ReceiverView = z.infer<typeof receiverViewSchema>;

const exhaustedSchema = z
  .strictObject({
    id: z.string().check(z.describe("Of a call, or of a request that is finished")),
    client: z.string(),
    events: z.array(z.strictObject({ id: z.string(), type: z.string(), at: time, tries: z.int() })),
  })
  .check(
    z.meta({
      id: "ExhaustedEvents",
      description: "Events that a receiver did not take within their tries.",
    }),
  );
type Exhausted = z.infer<typeof exhaustedSchema>;

const eventsSchema = z.strictObject({
  receivers: z.array(receiverViewSchema),
  exhausted_max: z.int(),
  former_secrets: z
    .optional(z.array(z.strictObject({ client: z.string(), name: z.string() })))
    .check(
      z.describe(
        "While `EVENTS_KEY` has a former key: clients' own receivers that need it, at most ten. The key can be retired once it is empty",
      ),
    ),
  exhausted: z
    .optional(z.array(exhaustedSchema))
    .check(
      z.describe(
        "With `receiver`: calls with no event pending, the oldest first, and then requests. A page may be short, or empty, and still have a `cursor`",
      ),
    ),
  cursor: nextCursor,
});

/** Cursor of a list: after a call, or, once there are no more calls, after a request. */
const cursorSchema = z.union([
  z.strictObject({ after: duePositionSchema }),
  z.strictObject({ request: z.string() }),
]);
type ExhaustedCursor = z.infer<typeof cursorSchema>;

const listEvents = declareRoute({
  operationId: "listEvents",
  summary: "Receivers of events, and what was not delivered to them",
  method: "get",
  path: "/events",
  query: z
    .strictObject({
      receiver: z.optional(anyName).check(z.describe("A name: lists its exhausted events")),
      cursor: z.optional(createCursorSchema(cursorSchema)),
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
    const receivers = names.flatMap((name) => findReceiverNamed(name, plan) ?? []);
    const views = { receivers: await viewsOf(receivers, deps), exhausted_max: exhaustedMax };
    if (query.receiver === undefined) {
      const former = await findFormerSecrets(deps);
      return { ...views, ...(former === undefined ? {} : { former_secrets: former }) };
    }
    const [receiver] = receivers;
    if (receiver === undefined)
      return answerProblem(c, 404, { detail: "The dial plan has no such receiver." });
    const { exhausted, next } = await listExhausted(
      receiver,
      { cursor: query.cursor, most: query.limit },
      deps,
    );
    return {
      ...views,
      exhausted: exhausted,
      ...(next === undefined ? {} : { cursor: toCursor(next) }),
    };
  },
});

export const eventRoutes = [listEvents];

export async function viewsOf(
  receivers: readonly Receiver[],
  { ledger, documents, clock }: RouteDeps,
): Promise<ReceiverView[]> {
  if (receivers.length === 0) return [];
  const keys = receivers.map(
    ({ name }) => ({ kind: "breaker", key: receiverBreakerOf(name) }) as const,
  );
  const lists = (keyOf: (name: string) => string) =>
    receivers.map(({ name }) => ({ key: keyOf(name) }));
  const [breakers, due, exhausted] = await Promise.all([
    documents.read(keys),
    ledger.due({ of: "events", lanes: lists(pendingOf), until: clock.now(), each: 1 }),
    ledger.due({
      of: "events",
      lanes: lists(exhaustedOf),
      until: endOfTime,
      each: exhaustedMax,
    }),
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
              opened_at: toIsoTime(breaker.openedAt),
              probe_at: toIsoTime(breaker.probeAt),
            }
          : null,
      oldest_due_at: toIsoTime(due[index]?.[0]?.dueAt ?? null),
      exhausted_calls: exhausted[index]?.length ?? 0,
    };
  });
}

interface ExhaustedPage {
  exhausted: Exhausted[];
  /** Cursor of the next page, if more may follow. */
  next?: ExhaustedCursor | undefined;
}

async function listExhausted(
  receiver: Receiver,
  { cursor, most }: { cursor: ExhaustedCursor | undefined; most: number },
  deps: RouteDeps,
): Promise<ExhaustedPage> {
  if (cursor !== undefined && "request" in cursor) {
    return listExhaustedRequests(receiver, { after: cursor.request, most }, deps);
  }
  const { ledger } = deps;
  const backlogs = [{ key: exhaustedOf(receiver.name), after: cursor?.after }];
  const [positions = []] = await ledger.due({
    of: "events",
    lanes: backlogs,
    until: endOfTime,
    each: most,
  });
  const { rows } = await ledger.read(positions.map(({ id }) => id));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const exhausted = positions.flatMap(({ id }) => {
    const row = byId.get(id);
    return row === undefined ? [] : exhaustedOfCall(row);
  });
  const last = positions.at(-1);
  if (last !== undefined && positions.length === most) return { exhausted, next: { after: last } };
  const requests = await listExhaustedRequests(
    receiver,
    { after: undefined, most: most - positions.length },
    deps,
  );
  return { exhausted: [...exhausted, ...requests.exhausted], next: requests.next };
}

/** Finds requests whose `request.finished` is exhausted. */
async function listExhaustedRequests(
  receiver: Receiver,
  { after, most }: { after: string | undefined; most: number },
  { documents, plan }: RouteDeps,
): Promise<ExhaustedPage> {
  const listed = await documents.list("request", { after, limit: scanRequestsMax });
  const exhausted: Exhausted[] = [];
  for (const request of listed.filter(isReadable)) {
    const { client, exhausted: isExhausted } = request.value;
    if (isExhausted !== true || findReceiver(clientNamed(client), plan)?.name !== receiver.name)
      continue;
    exhausted.push(exhaustedOfRequest(request));
    if (exhausted.length === most) return { exhausted, next: { request: request.key } };
  }
  const last = listed.at(-1);
  const isMore = listed.length === scanRequestsMax && last !== undefined;
  return { exhausted, ...(isMore ? { next: { request: last.key } } : {}) };
}

function exhaustedOfCall(row: CallRow): Exhausted[] {
  const events = row.events.filter(({ exhausted }) => exhausted === true);
  // The index lags behind the table: the events may have been replayed meanwhile.
  if (events.length === 0) return [];
  const viewOf = (event: CallEvent) => triedView(eventIdOf(row, event), event.type, event);
  return [{ id: row.id, client: row.client, events: events.map(viewOf) }];
}

function exhaustedOfRequest({ key, value }: StoredDocument<"request">): Exhausted {
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
  { at, tries = 0 }: { at: number } & Pick<DeliveryState, "tries">,
): Exhausted["events"][number] {
  return { id, type, at: toIsoTime(at), tries };
}
