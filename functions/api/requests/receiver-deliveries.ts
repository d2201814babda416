import {
  listDeliveries,
  orderReplay,
  sendTestEvent,
} from "#shared/events/client-receiver-deliveries.ts";
import { minuteMs } from "#shared/lib/units.ts";
import * as z from "#shared/lib/zod.ts";
import { foreignCursor } from "../http/cursors.ts";
import { limit, nextCursor, time, toIsoTime } from "../http/fields.ts";
import { answerProblem } from "../http/problem.ts";
import { refuseAboveBudget } from "../actions/write-budgets.ts";
import { declareRoute } from "../http/route.ts";
import { answerNoReceiver, changeReceivers, findReceiver, receiverIn } from "./client-receivers.ts";

/** Minimum time between two replays to one receiver: each goes through all calls of its time. */
const replayEveryMs = minuteMs;
/** Not transformed, as OpenAPI shows no example of a body that is. */
const instantText = z.iso.datetime({
  offset: true,
  error: "must be an instant such as 2026-11-21T09:00:00Z",
});

export const listReceiverDeliveries = declareRoute({
  operationId: "listReceiverDeliveries",
  summary: "The latest tries to deliver events to a receiver, newest first",
  description: "At most the last 200 tries, of at most seven days.",
  method: "get",
  path: "/receivers/:name/deliveries",
  query: z.strictObject({
    cursor: z.optional(
      z.pipe(z.string().check(z.regex(/^\d{1,15}$/, foreignCursor)), z.transform(Number)),
    ),
    limit,
  }),
  answer: z.looseObject({
    deliveries: z.array(
      z.looseObject({
        at: time,
        event_id: z.string().check(z.describe("The `webhook-id`, the same for every try")),
        type: z.string(),
        try: z.int().check(z.describe("Number of the try of this event, from 1")),
        ms: z.int().check(z.describe("Time until the answer, or until the time limit")),
        status: z
          .nullable(z.int())
          .check(
            z.describe("HTTP status of the answer. Null: there was none, and `error` says why"),
          ),
        error: z
          .nullable(z.string())
          .check(
            z.describe(
              "Such as `time_out`, `ECONNREFUSED`, or `address_not_public` for a name that resolves to a private address",
            ),
          ),
      }),
    ),
    cursor: nextCursor,
  }),
  problems: [403, 404],
  async handle({ c, deps, query }) {
    const found = await findReceiver(c, deps);
    if (found instanceof Response) return found;
    const { client, name } = found;
    const { cursor: before, limit: most } = query;
    const page = { client, name, limit: most, ...(before === undefined ? {} : { before }) };
    const { deliveries, next } = await listDeliveries(page, deps);
    return {
      deliveries: deliveries.map(({ at, event, type, try: number, ms, status, error }) => ({
        at: toIsoTime(at),
        event_id: event,
        type,
        try: number,
        ms: Math.round(ms),
        status: status ?? null,
        error: error ?? null,
      })),
      ...(next === undefined ? {} : { cursor: String(next) }),
    };
  },
});

export const testReceiver = declareRoute({
  operationId: "testReceiver",
  summary: "Send a signed `receiver.test` event to a receiver; its deliveries show the answer",
  method: "post",
  path: "/receivers/:name/test",
  body: z.strictObject({}).check(z.meta({ examples: [{}] })),
  isBodyOptional: true,
  answer: z.looseObject({ event_id: z.string().check(z.describe("Its `webhook-id`")) }),
  status: 202,
  problems: [403, 404],
  async handle({ c, deps }) {
    const found = await findReceiver(c, deps);
    if (found instanceof Response) return found;
    const above = await refuseAboveBudget(c, "tests", deps);
    if (above !== undefined) return above;
    const { client, name } = found;
    const id = `test_${deps.randomId()}`;
    await sendTestEvent({ client, name, id }, deps);
    return { event_id: id };
  },
});

export const replayReceiver = declareRoute({
  operationId: "replayReceiver",
  summary:
    "Deliver events again that a receiver had, or whose tries are exhausted, under their ids",
  description: "Of the calls that were accepted in this time. Once a minute for each receiver.",
  method: "post",
  path: "/receivers/:name/replay",
  body: z
    .strictObject({
      from: instantText.check(z.describe("Of calls accepted then or later")),
      until: instantText.check(z.describe("Of calls accepted earlier")),
    })
    .check(
      z.refine(({ from, until }) => Date.parse(from) < Date.parse(until), {
        path: ["until"],
        error: "must be after from",
      }),
    )
    .check(z.meta({ examples: [{ from: "2026-11-21T09:00:00Z", until: "2026-11-21T10:00:00Z" }] })),
  answer: z.looseObject({ accepted: z.literal(true) }),
  status: 202,
  problems: [403, 404, 409],
  async handle({ c, deps, body }) {
    const found = await findReceiver(c, deps);
    if (found instanceof Response) return found;
    const { client, name } = found;
    const changed = await changeReceivers(
      c,
      {
        client,
        name,
        action: "client_replay",
        change(current) {
          const receiver = receiverIn(current, name);
          if (receiver === undefined) return answerNoReceiver(c);
          const now = deps.clock.now();
          const { replayedAt = 0 } = receiver;
          if (now < replayedAt + replayEveryMs && now >= replayedAt) {
            const detail = "A replay to this receiver began within the last minute.";
            return answerProblem(c, 409, { detail });
          }
          return { ...current, [name]: { ...receiver, replayedAt: now } };
        },
      },
      deps,
    );
    if (changed instanceof Response) return changed;
    const [from, until] = [Date.parse(body.from), Date.parse(body.until)];
    await orderReplay({ client, name, from, until }, deps);
    return { accepted: true as const };
  },
});
