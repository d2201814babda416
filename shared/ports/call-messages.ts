import { labelsSchema } from "../calls/labels.ts";
import * as z from "../lib/zod.ts";
import {
  type Call,
  type CallHeaders,
  type CallRequest,
  type First,
  storedCallRequestSchema,
} from "../calls/call-request.ts";
import { type Mode, modeOf, modes, toCallId } from "../calls/ids.ts";
import { settlementSchema } from "../calls/transitions.ts";

/** Maximum calls of a message whose delivery dials them. */
export const messageCallsMax = 25;
/** Maximum rows of a dispatch, which has only their ids. */
export const dispatchRowsMax = 100;

/** Headers of the request. Absent: not sent. */
const headers = {
  notBefore: z.optional(z.number()),
  urgent: z.optional(z.literal(true)),
  labels: z.optional(labelsSchema),
  /** As the plan's `traces` keeps it. */
  traceparent: z.optional(z.string()),
};

/** Mode of a message's calls. Absent: `live`. */
const mode = z.optional(z.enum(modes));

/** Checks that a message about test calls, and no other, says so. */
const isOfItsMode = z.refine<{ client: string; mode?: Mode | undefined }>(
  ({ client, mode: named = "live" }) => named === modeOf(client),
  "must have the mode of its client",
);

const callsFields = z.strictObject({
  kind: z.literal("calls"),
  requestId: z.string(),
  client: z.string(),
  mode,
  /** Milliseconds since the epoch. */
  acceptedAt: z.number(),
  ...headers,
  /** Present for a redial of a call whose agent a split has chosen. */
  split: z.optional(z.string()),
  /** Present for a redial: ids of the calls that it replaces, the first one first. */
  ancestors: z.optional(z.array(z.string())),
  calls: z
    .array(z.strictObject({ index: z.number(), request: storedCallRequestSchema }))
    .check(z.minLength(1)),
});

const callsSchema = callsFields.check(isOfItsMode);

export type CallsMessage = Omit<z.infer<typeof callsSchema>, "calls"> & {
  /** `split`: that which has chosen the agent in the place of the one that was posted. */
  calls: { index: number; request: CallRequest; split?: string | undefined }[];
};

/** An accepted request (`createRequestMessage`), parsed into a message of all its calls. */
const requestSchema = z.pipe(
  z
    .strictObject({
      kind: z.literal("request"),
      requestId: z.string(),
      client: z.string(),
      mode,
      acceptedAt: z.number(),
      ...headers,
      requests: z.array(storedCallRequestSchema).check(z.minLength(1)),
    })
    .check(isOfItsMode),
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
  z.strictObject({
    kind: z.literal("dispatch"),
    rows: z.array(z.strictObject({ id: z.string(), account: z.string() })).check(z.minLength(1)),
  }),
  /** A settlement that could not be written to the ledger. */
  z.strictObject({ kind: z.literal("outcome"), settlement: settlementSchema }),
]);

export type Message = Exclude<z.infer<typeof messageSchema>, { kind: "calls" }> | CallsMessage;

/** Returns the calls of a message, each with its id. A message has all calls of its request. */
export function toCalls({ requestId, client, acceptedAt, ...message }: CallsMessage): Call[] {
  const {
    mode: ofAll = "live",
    ancestors,
    calls,
    notBefore,
    urgent,
    labels,
    traceparent,
  } = message;
  const agents = new Set<string>();
  const firstOf = (agentId: string): { first?: First } => {
    if (agents.has(agentId)) return {};
    const first = agents.size === 0 ? "request" : "agent";
    agents.add(agentId);
    return { first };
  };
  return calls.map(({ index, request, split = message.split }) => ({
    id: toCallId(requestId, index),
    requestId,
    batchCalls: calls.length,
    client,
    mode: ofAll,
    acceptedAt,
    request,
    ...firstOf(request.agent_id),
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(urgent === undefined ? {} : { urgent }),
    ...(labels === undefined ? {} : { labels }),
    ...(split === undefined ? {} : { split }),
    ...(traceparent === undefined ? {} : { traceparent }),
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
  return message instanceof MessageText ? message.json : JSON.stringify(message);
}

/**
 * Composes the message of an accepted request around the text of its body, which the schema has accepted. Serializing
 * a batch again took a quarter of the time of accepting it.
 *
 * @param body.text the body: a call, or an array of them
 */
export function createRequestMessage(
  request: Pick<
    CallsMessage,
    "requestId" | "client" | "mode" | "acceptedAt" | "traceparent" | keyof CallHeaders
  >,
  { text, isBatch }: { text: string; isBatch: boolean },
): MessageText {
  const { requestId, client, acceptedAt, notBefore, urgent, labels, traceparent } = request;
  // A template, as JSON.stringify of an object costs as much as the rest. Only the names need escaping.
  const head = `{"kind":"request","requestId":"${requestId}","client":${JSON.stringify(client)},"acceptedAt":${acceptedAt}`;
  const tested = request.mode === "test" ? ',"mode":"test"' : "";
  const later = notBefore === undefined ? "" : `,"notBefore":${notBefore}`;
  const ahead = urgent === undefined ? "" : ',"urgent":true';
  const named = labels === undefined ? "" : `,"labels":${JSON.stringify(labels)}`;
  const traced = traceparent === undefined ? "" : `,"traceparent":"${traceparent}"`;
  const requests = isBatch ? text : `[${text}]`;
  // The engine joins the parts when they are sent. `join` would copy a batch of some MB once more.
  return new MessageText(
    `${head}${tested}${later}${ahead}${named}${traced},"requests":${requests}}`,
  );
}
