import * as z from "zod";
import { acceptedRequestSchema, type Call } from "../calls/call.ts";
import { callIdOf, indexOf } from "../calls/ids.ts";
import { settlementSchema } from "../calls/state-machine.ts";

/** Most calls, or ids, that one message brings once a request has been split. */
export const messageCallsMax = 25;

/**
 * What travels on the queue. Messages are hints and the ledger's row is the home of a call: once a row exists, losing
 * or doubling a message changes nothing. Strict, so that a field this version does not know (a newer API before its
 * dialer is deployed) makes the message wait instead of being dropped from it.
 */
export const messageSchema = z.discriminatedUnion("kind", [
  /** A request, or up to 25 of its calls. */
  z.strictObject({
    kind: z.literal("calls"),
    requestId: z.string(),
    client: z.string(),
    /** Milliseconds since the epoch. */
    acceptedAt: z.number(),
    /** Of a redial: the calls in whose stead it is made, the first one first. */
    ancestors: z.array(z.string()).optional(),
    calls: z.array(z.strictObject({ index: z.number(), request: acceptedRequestSchema })).min(1),
  }),
  /** Rows that are due: up to 25 ids, whose moments lie in the same second. */
  z.strictObject({ kind: z.literal("due"), ids: z.array(z.string()).min(1) }),
  /** A settlement that the ledger would not take at the time. */
  z.strictObject({ kind: z.literal("outcome"), settlement: settlementSchema }),
]);

export type Message = z.infer<typeof messageSchema>;
export type CallsMessage = Extract<Message, { kind: "calls" }>;

/** The calls of a message, each with its id. */
export function callsOf({ requestId, client, acceptedAt, ancestors, calls }: CallsMessage): Call[] {
  return calls.map(({ index, request }) => ({
    id: callIdOf(requestId, index),
    requestId,
    client,
    acceptedAt,
    request,
    ...(ancestors === undefined ? {} : { ancestors }),
  }));
}

/** The message that brings these calls of one request. */
export function messageOf(calls: readonly [Call, ...Call[]]): CallsMessage {
  const [{ requestId, client, acceptedAt, ancestors }] = calls;
  return {
    kind: "calls",
    requestId,
    client,
    acceptedAt,
    ...(ancestors === undefined ? {} : { ancestors }),
    calls: calls.map(({ id, request }) => ({ index: indexOf(id), request })),
  };
}
