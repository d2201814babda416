import { type CallEvent, eventTypes } from "#shared/calls/call-event.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { replayRows } from "#shared/events/replay-rows.ts";
import { firstCallIdAt, indexOf, requestIdOf, clientNamed } from "#shared/calls/ids.ts";
import { type Receiver, findReceiver } from "#shared/dial-plan/receivers.ts";
import { followedRequest, deliveredKeyOf } from "#shared/events/outbox-ledger.ts";
import * as z from "#shared/lib/zod.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { answerUnprocessable } from "../api/http/problem.ts";
import { declareRoute } from "../api/http/route.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { scan } from "./scan.ts";
import { callCursor } from "../api/http/cursors.ts";
import { anyName, instant, nextCursor, toIsoTime } from "../api/http/fields.ts";

/** Maximum calls of one answer, and maximum calls of one write. */
const answerCallsMax = 200;
const callsAtOnce = 50;

const filtersSchema = z
  .strictObject({
    client: anyName,
    from: instant.check(z.describe("Of calls accepted then or later")),
    until: instant.check(z.describe("Of calls accepted earlier")),
    types: z
      .optional(z.array(z.enum(eventTypes)).check(z.minLength(1)))
      .check(z.describe("Absent: all")),
    exhausted: z
      .optional(z.boolean())
      .check(z.describe("True: only events whose tries are exhausted")),
    cursor: z.optional(callCursor),
  })
  .check(
    z.refine(({ from, until }) => from < until, { path: ["until"], error: "must be after from" }),
  );
type Filters = z.output<typeof filtersSchema>;

const replayedSchema = z.strictObject({
  replayed: z
    .int()
    .check(
      z.describe(
        "Events that are delivered again, among them one for each request that is finished again",
      ),
    ),
  cursor: nextCursor,
});

const replayEvents = declareRoute({
  operationId: "replayEvents",
  summary: "Deliver events of a client's calls again, under the ids that they had",
  method: "post",
  path: "/events/replay",
  body: filtersSchema,
  answer: replayedSchema,
  async handle({ c, deps, body }) {
    const { client, from, until, cursor } = body;
    const receiver = findReceiver(clientNamed(client), deps.plan);
    if (receiver === undefined) {
      const detail = "has no receiver of events in the dial plan";
      return answerUnprocessable(c, [{ pointer: "/client", detail }]);
    }
    const { rows, next } = await scan((page) => deps.ledger.list({ all: true, ...page }), {
      before: cursor ?? firstCallIdAt(until),
      from,
      fits: (row) => row.client === client && row.acceptedAt >= from && row.acceptedAt < until,
      limit: answerCallsMax,
    });
    if (cursor === undefined || rows.length > 0) {
      const target = `client ${client}, ${toIsoTime(from)} to ${toIsoTime(until)}`;
      await recordAction(c, { action: "replay", target, count: rows.length }, deps);
    }
    let count = 0;
    for (let start = 0; start < rows.length; start += callsAtOnce) {
      const some = rows.slice(start, start + callsAtOnce);
      count += await replayRows(some, { receiver: receiver.name, isWanted: wantedBy(body) }, deps);
      count += await finishAgain(some, { receiver, filters: body }, deps);
    }
    return { replayed: count, ...(next === undefined ? {} : { cursor: next }) };
  },
});

export const replayRoutes = [replayEvents];

/** Returns a function that says if the filters select an event of a call. */
function wantedBy({ types, exhausted: isExhausted }: Filters) {
  const names: readonly string[] = types ?? eventTypes;
  return ({ type, exhausted }: CallEvent) =>
    names.includes(type) && (isExhausted !== true || exhausted === true);
}

/**
 * Replays `request.finished` of the requests whose first call is among these: writes their initial documents, with
 * which a sweep tracks them again. An unfinished request, or one whose event is pending, stays as it is.
 *
 * @returns the number of requests
 */
async function finishAgain(
  rows: readonly CallRow[],
  { receiver, filters }: { receiver: Receiver; filters: Filters },
  { documents, plan, clock, random }: RouteDeps,
): Promise<number> {
  const { types, exhausted: isExhausted } = filters;
  const isReplayed = [types ?? eventTypes, receiver.types].every((all) =>
    all.includes("request.finished"),
  );
  const firsts = rows.filter(({ id }) => indexOf(id) === 0);
  if (!isReplayed || firsts.length === 0) return 0;
  const keys = firsts.map(({ id }) => ({ kind: "request", key: requestIdOf(id) }) as const);
  const deliveredKeys = keys.map(({ key }) => deliveredKeyOf(key));
  const read = await documents.read([...keys, ...deliveredKeys]);
  const changes = firsts.flatMap((row) => {
    const current = read.get("request", requestIdOf(row.id));
    // A request whose event was delivered has no document.
    const isAgain = current === undefined ? isExhausted !== true : current.value.exhausted === true;
    const followed = followedRequest(row, plan, random.version());
    const next = { ...followed, value: { ...followed.value, replayedAt: clock.now() } };
    return isAgain ? { next, seen: current?.version ?? null } : [];
  });
  if (changes.length === 0) return 0;
  const removals = changes.flatMap(({ next }) => {
    const { kind, key } = deliveredKeyOf(next.key);
    const delivered = read.get(kind, key);
    return delivered === undefined ? [] : [{ kind, key, seen: delivered.version }];
  });
  await documents.remove(removals);
  const done = await documents.write(changes);
  return done.filter(Boolean).length;
}
