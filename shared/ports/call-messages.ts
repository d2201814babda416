import * as z from "../lib/zod.ts";
import {
  type Call,
  type CallHeaders,
  type First,
  storedCallRequestSchema,
} from "../calls/call-request.ts";
import { isTestClient, toCallId } from "../calls/ids.ts";
import { settlementSchema } from "../calls/transitions.ts";

/** Maximum calls of a message whose delivery dials them. */
export const messageCallsMax = 25;
/** Maximum rows of a dispatch, which has only their ids. */
export const dispatchRowsMax = 100;

/** Headers of the request. Absent: not sent. */
const headers = {
  notBefore: z.optional(z.number()),
  urgent: z.optional(z.literal(true)),
  campaign: z.optional(z.string()),
};

/**
 * Prefix of the kinds of messages about test calls, which they have on the queue alone: an older dialer, which would ring
 * their numbers, hands them back unread. `toJson` and `createRequestMessage` add it, and parsing takes it away.
 */
const testPrefix = "test-";

/** Checks that a message about test calls, and no other, is of such a kind. */
const isOfItsKind = z.refine<{ kind: string; client: string }>(
  ({ kind, client }) => kind.startsWith(testPrefix) === isTestClient(client),
  "must be of the kind of its client",
);

const callsFields = z.strictObject({
  kind: z.enum(["calls", `${testPrefix}calls`]),
  requestId: z.string(),
  client: z.string(),
  /** Milliseconds since the epoch. */
  acceptedAt: z.number(),
  ...headers,
  /** Present for a redial: ids of the calls that it replaces, the first one first. */
  ancestors: z.optional(z.array(z.string())),
  calls: z
    .array(z.strictObject({ index: z.number(), request: storedCallRequestSchema }))
    .check(z.minLength(1)),
});

const callsSchema = z.pipe(
  callsFields.check(isOfItsKind),
  z.transform((message) => ({ ...message, kind: "calls" as const })),
);

export type CallsMessage = z.infer<typeof callsSchema>;

/** An accepted request (`createRequestMessage`), parsed into a message of all its calls. */
const requestSchema = z.pipe(
  z
    .strictObject({
      kind: z.enum(["request", `${testPrefix}request`]),
      requestId: z.string(),
      client: z.string(),
      acceptedAt: z.number(),
      ...headers,
      requests: z.array(storedCallRequestSchema).check(z.minLength(1)),
    })
    .check(isOfItsKind),
  z.transform(({ requests, ...request }): CallsMessage => ({
    ...request,
    kind: "calls",
    calls: requests.map((one, index) => ({ index, request: one })),
  })),
);

/**
 * Messages of the queue. They are hints, and the ledger's row is authoritative: once a row exists, losing or doubling
 * a message changes nothing. The schema is strict: a message with an unknown field, from an API that was deployed
 * before its dialer, waits for a dialer that knows the field.
 */
export const messageSchema = z.discriminatedUnion("kind", [
  requestSchema,
  /** A redial. */
  callsSchema,
  /** Up to 100 rows in the order of their turns, each with the account that has room for it. */
  z.pipe(
    z.strictObject({
      kind: z.enum(["dispatch", `${testPrefix}dispatch`]),
      rows: z.array(z.strictObject({ id: z.string(), account: z.string() })).check(z.minLength(1)),
    }),
    z.transform((message) => ({ ...message, kind: "dispatch" as const })),
  ),
  /** A settlement that could not be written to the ledger. */
  z.strictObject({ kind: z.literal("outcome"), settlement: settlementSchema }),
]);

export type Message = z.infer<typeof messageSchema>;

/** Returns the calls of a message, each with its id. A message has all calls of its request. */
export function toCalls({ requestId, client, acceptedAt, ...message }: CallsMessage): Call[] {
  const { ancestors, calls, notBefore, urgent, campaign } = message;
  const agents = new Set<string>();
  const firstOf = (agentId: string): { first?: First } => {
    if (agents.has(agentId)) return {};
    const first = agents.size === 0 ? "request" : "agent";
    agents.add(agentId);
    return { first };
  };
  return calls.map(({ index, request }) => ({
    id: toCallId(requestId, index),
    requestId,
    batchCalls: calls.length,
    client,
    acceptedAt,
    request,
    ...firstOf(request.agent_id),
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(urgent === undefined ? {} : { urgent }),
    ...(campaign === undefined ? {} : { campaign }),
    ...(ancestors === undefined ? {} : { ancestors }),
  }));
}

/** A message that is JSON already. */
export class MessageText {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
}

/** Returns the JSON of a message. */
export function toJson(message: unknown): string {
  if (message instanceof MessageText) return message.json;
  const { data } = aboutTests.safeParse(message);
  return JSON.stringify(data === undefined ? message : { ...data, kind: testPrefix + data.kind });
}

const testClient = z.string().check(z.refine(isTestClient));
/** Messages about test calls: of a test client, or for accounts of test clients, with which real ones share none. */
const aboutTests = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("calls"), client: testClient }),
  z.looseObject({
    kind: z.literal("dispatch"),
    rows: z.array(z.looseObject({ account: testClient })).check(z.minLength(1)),
  }),
]);

/**
 * Composes the message of an accepted request around the text of its body, which the schema has accepted. Serializing
 * a batch again took a quarter of the time of accepting it.
 *
 * @param body.text the body: a call, or an array of them
 */
export function createRequestMessage(
  request: Pick<CallsMessage, "requestId" | "client" | "acceptedAt" | keyof CallHeaders>,
  { text, isBatch }: { text: string; isBatch: boolean },
): MessageText {
  const { requestId, client, acceptedAt, notBefore, urgent, campaign } = request;
  // A template, as JSON.stringify of an object costs as much as the rest. Only the names need escaping.
  const kind = `${isTestClient(client) ? testPrefix : ""}request`;
  const head = `{"kind":"${kind}","requestId":"${requestId}","client":${JSON.stringify(client)},"acceptedAt":${acceptedAt}`;
  const later = notBefore === undefined ? "" : `,"notBefore":${notBefore}`;
  const ahead = urgent === undefined ? "" : ',"urgent":true';
  const named = campaign === undefined ? "" : `,"campaign":${JSON.stringify(campaign)}`;
  const requests = isBatch ? text : `[${text}]`;
  return new MessageText([head, later, ahead, named, ',"requests":', requests, "}"].join(""));
}
