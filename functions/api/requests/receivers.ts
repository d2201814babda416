import type { Context } from "hono";
import { formerSecretMs, clientReceiverSecret } from "#shared/dial-plan/client-receiver-secrets.ts";
import { eventTypes } from "#shared/calls/call-event.ts";
import { echoKeysMax } from "#shared/events/client-receiver-events.ts";
import { findUrlProblem } from "#shared/lib/public-address.ts";
import * as z from "#shared/lib/zod.ts";
import {
  clientReceiverNamePattern,
  clientReceiversMax,
  type StoredReceiver,
} from "#shared/ports/receiver-kinds.ts";
import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { time, toIsoTime } from "../http/fields.ts";
import { answerProblem, answerUnprocessable } from "../http/problem.ts";
import { refuseAboveBudget } from "../actions/write-budgets.ts";
import { declareRoute } from "../http/route.ts";
import {
  answerNoReceiver,
  changeReceivers,
  type ClientReceivers,
  ownerOf,
  readReceivers,
  receiverIn,
  withoutReceiver,
} from "./client-receivers.ts";

const urlCharactersMax = 2_000;
const echoCharactersMax = 128;
/** A client's own receiver is somewhere on the internet, and nobody has checked that its client may flood it. */
const requestsPerSecondMax = 100;

export const receiverView = {
  name: z.string(),
  url: z.string(),
  types: z.array(z.string()),
  echo: z.array(z.string()),
  requests_per_second: z.number(),
  created_at: time,
  rotated_at: z.nullable(time).check(z.describe("Time of the last rotation of its secret")),
  former_secret_until: z
    .nullable(time)
    .check(z.describe("Until then events are signed with the secret before the rotation too")),
  rotate_secret: z
    .boolean()
    .check(
      z.describe(
        "True: the service is about to change the key of its secrets. Rotate the secret: the present one expires with that key",
      ),
    ),
};
const secret = z
  .string()
  .check(z.describe("`whsec_` and base64 (Standard Webhooks). It is shown here only"));

const receiverAnswer = z.looseObject(receiverView).check(z.meta({ id: "Receiver" }));
type ReceiverView = z.output<typeof receiverAnswer>;

export const receiverBody = z
  .strictObject({
    url: z
      .string()
      .check(
        z.maxLength(urlCharactersMax),
        z.describe("https on port 443 of a public host, without a user"),
      ),
    types: z.optional(
      z
        .array(z.enum(eventTypes))
        .check(z.minLength(1), z.describe("Absent: all, also those that come later")),
    ),
    echo: z._default(
      z
        .array(z.string().check(z.minLength(1), z.maxLength(echoCharactersMax)))
        .check(z.maxLength(10)),
      [],
    ),
    requests_per_second: z._default(
      z.number().check(z.minimum(0.1), z.maximum(requestsPerSecondMax)),
      20,
    ),
  })
  .check(z.meta({ examples: [{ url: "https://example.com/events", types: ["call.ended"] }] }));

/** Answer to a receiver that was put: it has the secret only if the receiver is new. */
export const putReceiverAnswer = z.looseObject({ ...receiverView, secret: z.optional(secret) });

/** Creates or replaces a receiver. A replaced one keeps its secret and its pending events. */
export const putReceiver = declareRoute({
  operationId: "putReceiver",
  summary: "Create a receiver of your client's events, or replace it",
  description:
    "At most five per client. The answer has its secret only when it is created; a replaced receiver keeps its own.",
  method: "put",
  path: "/receivers/:name",
  body: receiverBody,
  answer: putReceiverAnswer,
  problems: [403, 409],
  async handle({ c, deps, body }) {
    const client = ownerOf(c, deps);
    if (client instanceof Response) return client;
    const name = c.req.param("name") ?? "";
    if (!clientReceiverNamePattern.test(name)) {
      const detail = "must be 1 to 32 of a to z, 0 to 9, - and _, and begin with neither - nor _";
      return answerUnprocessable(c, [{ parameter: "name", detail }]);
    }
    return storeReceiver(c, { client, name, body, action: "client_put_receiver" }, deps);
  },
});

/** A receiver to be put, and the action's name in the audit log. */
interface PutReceiver {
  client: string;
  name: string;
  body: z.output<typeof receiverBody>;
  action: string;
}

/** Creates or replaces a client's receiver. Returns the answer, or the problem that refuses it. */
export async function storeReceiver(
  c: Context<ApiEnv>,
  { client, name, body, action }: PutReceiver,
  deps: RouteDeps,
): Promise<z.output<typeof putReceiverAnswer> | Response> {
  const { clock, eventsKeys, plan, settings } = deps;
  const problem = findUrlProblem(body.url, { loopback: settings.permitsLoopback === true });
  if (problem !== undefined) return answerUnprocessable(c, [{ pointer: "/url", detail: problem }]);
  if (name === client && Object.hasOwn(plan.events ?? {}, client)) {
    const detail = "The dial plan has a receiver of this name: choose another name.";
    return answerProblem(c, 409, { detail });
  }
  const above = await refuseAboveBudget(c, "receivers", deps);
  if (above !== undefined) return above;
  const url = new URL(body.url).href;
  const { requests_per_second: requestsPerSecond, ...given } = body;
  const stored = { ...given, requestsPerSecond };
  let isCreated = false;
  const change = (current: ClientReceivers) => {
    const former = receiverIn(current, name);
    isCreated = former === undefined;
    if (isCreated && Object.keys(current).length >= clientReceiversMax) {
      const detail = `A client has at most ${clientReceiversMax} receivers: delete one first.`;
      return answerProblem(c, 409, { detail });
    }
    const now = clock.now();
    const fresh: Pick<StoredReceiver, "types" | "secretGeneration" | "secretKey" | "createdAt"> = {
      secretGeneration: now,
      secretKey: nameOfKey(eventsKeys.current),
      createdAt: now,
    };
    const { types: _, ...kept } = former ?? fresh;
    const next = { ...current, [name]: { ...kept, ...stored, url } };
    const count = countEchoed(next);
    if (count <= echoKeysMax || count <= countEchoed(current)) return next;
    const detail = `must be at most ${echoKeysMax}, with those of the client's other receivers`;
    return answerUnprocessable(c, [{ pointer: "/echo", detail }]);
  };
  const exposes = { url: withoutQuery(url), echo: body.echo };
  const receivers = await changeReceivers(c, { client, name, action, exposes, change }, deps);
  if (receivers instanceof Response) return receivers;
  const put = receiverIn(receivers, name);
  if (put === undefined) return answerNoReceiver(c);
  const view = toReceiverView(name, put, deps);
  return isCreated ? { ...view, secret: secretOf({ client, name }, put, deps) } : view;
}

/** Counts the entries of a context that the receivers of a client repeat. */
function countEchoed(receivers: ClientReceivers): number {
  return new Set(Object.values(receivers).flatMap(({ echo }) => echo)).size;
}

/** Returns a URL without its query, which may be a secret. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, "?…");
}

export const listReceivers = declareRoute({
  operationId: "listReceivers",
  summary: "The receivers that your client has made, without their secrets",
  method: "get",
  path: "/receivers",
  answer: z.looseObject({ receivers: z.array(receiverAnswer) }),
  problems: [403],
  async handle({ c, deps }) {
    const client = ownerOf(c, deps);
    if (client instanceof Response) return client;
    const receivers = Object.entries(await readReceivers(client, deps));
    return { receivers: receivers.map(([name, one]) => toReceiverView(name, one, deps)) };
  },
});

export const deleteReceiver = declareRoute({
  operationId: "deleteReceiver",
  summary: "Remove a receiver; its pending events are not delivered",
  method: "delete",
  path: "/receivers/:name",
  answer: z.looseObject({ deleted: z.literal(true) }),
  problems: [403, 404],
  async handle({ c, deps }) {
    const client = ownerOf(c, deps);
    if (client instanceof Response) return client;
    const name = c.req.param("name") ?? "";
    const change = withoutReceiver(c, name);
    const action = "client_delete_receiver";
    const left = await changeReceivers(c, { client, name, action, change }, deps);
    return left instanceof Response ? left : { deleted: true as const };
  },
});

/**
 * Makes a new secret. For a day events are signed with the former secret too, but not with an older one: two
 * rotations end a secret that somebody has seen.
 */
export const rotateReceiverSecret = declareRoute({
  operationId: "rotateReceiverSecret",
  summary: "Make a new secret for a receiver; the former one signs for another day too",
  method: "post",
  path: "/receivers/:name/rotate-secret",
  body: z.strictObject({}).check(z.meta({ examples: [{}] })),
  isBodyOptional: true,
  answer: z.looseObject({ ...receiverView, secret }),
  problems: [403, 404],
  async handle({ c, deps }) {
    const client = ownerOf(c, deps);
    if (client instanceof Response) return client;
    const name = c.req.param("name") ?? "";
    const { clock, eventsKeys } = deps;
    const above = await refuseAboveBudget(c, "receivers", deps);
    if (above !== undefined) return above;
    const receivers = await changeReceivers(
      c,
      {
        client,
        name,
        action: "client_rotate_secret",
        change(current) {
          const former = receiverIn(current, name);
          if (former === undefined) return answerNoReceiver(c);
          const next = {
            ...former,
            secretGeneration: former.secretGeneration + 1,
            secretKey: nameOfKey(eventsKeys.current),
            rotatedAt: clock.now(),
          };
          return { ...current, [name]: next };
        },
      },
      deps,
    );
    if (receivers instanceof Response) return receivers;
    const rotated = receiverIn(receivers, name);
    if (rotated === undefined) return answerNoReceiver(c);
    return {
      ...toReceiverView(name, rotated, deps),
      secret: secretOf({ client, name }, rotated, deps),
    };
  },
});

function secretOf(
  key: { client: string; name: string },
  { secretGeneration }: StoredReceiver,
  { eventsKeys }: RouteDeps,
): string {
  return clientReceiverSecret({ ...key, secretGeneration }, eventsKeys.current);
}

export function toReceiverView(
  name: string,
  {
    url,
    types = [...eventTypes],
    echo,
    requestsPerSecond,
    createdAt,
    rotatedAt,
    secretKey,
  }: StoredReceiver,
  { clock, eventsKeys }: RouteDeps,
): ReceiverView {
  const until = rotatedAt === undefined ? 0 : rotatedAt + formerSecretMs;
  return {
    name,
    url,
    types,
    echo,
    requests_per_second: requestsPerSecond,
    created_at: toIsoTime(createdAt),
    rotated_at: toIsoTime(rotatedAt ?? null),
    former_secret_until: toIsoTime(until > clock.now() ? until : null),
    rotate_secret: secretKey !== nameOfKey(eventsKeys.current),
  };
}
