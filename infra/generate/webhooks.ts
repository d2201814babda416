/** Makes the webhooks section of the OpenAPI document: what the service posts to the plan's receivers of events. */
import { eventTypes } from "#shared/calls/call-event.ts";
import { eventBodySchemas } from "#shared/events/event-body.ts";
import { eventExamples } from "./examples.ts";
import { type Json, jsonSchema } from "./json-schema.ts";

type EventType = (typeof eventTypes)[number];

const summaries: Record<EventType, string> = {
  "call.placed": "The provider has taken a call",
  "call.answered": "A placed call was answered",
  "call.ended": "A placed call has ended, and how",
  "call.rejected": "A call was refused permanently",
  "call.expired": "A call was not dialed in its time",
  "call.cancelled": "A call was cancelled",
  "call.needs_review": "A call waits for an operator's decision",
  "call.reviewed": "An operator has decided what a call was",
  "call.opt_out": "A callee asked not to be called again",
  "call.call_back": "A callee's wish to be called back was decided",
  "request.finished": "All calls of a request are over",
};

const description =
  "Delivered at least once: a repeated request has the same webhook-id. Requests may come in any order.";

/** A header of Standard Webhooks. */
interface SignatureHeader {
  name: string;
  about: string;
  pattern: string;
  example: string;
}

export const signatureParameter = ({ name, about, pattern, example }: SignatureHeader) => ({
  name,
  in: "header",
  required: true,
  description: about,
  schema: { type: "string", pattern },
  example,
});

export const webhookParameters = {
  WebhookId: signatureParameter({
    name: "webhook-id",
    about: "The event's id, the same on every try: drop one that you have seen",
    pattern: "^[\\w.]+$",
    example: `${eventExamples["call.placed"].data.id}.1`,
  }),
  WebhookTimestamp: signatureParameter({
    name: "webhook-timestamp",
    about:
      "Time of this try in seconds since the epoch: refuse one that is more than five minutes away",
    pattern: "^\\d+$",
    example: "1795251601",
  }),
  WebhookSignature: signatureParameter({
    name: "webhook-signature",
    about:
      "v1, and the HMAC-SHA256 of id.timestamp.body in base64, by the receiver's secret. Two with a space between them while the secret is rotated; absent to a loopback host without a secret",
    pattern: "^v1,\\S+( v1,\\S+)*$",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  }),
};

export const webhookResponses = {
  EventTaken: { description: "Accepted: this event is not sent again." },
  EventGone: {
    description:
      "The receiver is gone: its circuit breaker opens at once, and only probes are sent until it answers 2xx.",
  },
  EventNotTaken: {
    description:
      "Not accepted: sent again, ten times over three days, not before Retry-After. No answer in 15 seconds and a redirect count the same.",
  },
};

/** Returns one operation for each type of event. Schemas that have an id are put into `components`. */
export function webhooksOf(components: Json): Record<string, Json> {
  const operationOf = (type: EventType) => ({
    operationId: type.replaceAll(/[._](\w)/g, (_, letter: string) => letter.toUpperCase()),
    tags: ["Events"],
    summary: summaries[type],
    description,
    security: [],
    parameters: Object.keys(webhookParameters).map((name) => ({
      $ref: `#/components/parameters/${name}`,
    })),
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: jsonSchema(eventBodySchemas[type], "output", components),
          example: eventExamples[type],
        },
      },
    },
    responses: {
      "2XX": { $ref: "#/components/responses/EventTaken" },
      "410": { $ref: "#/components/responses/EventGone" },
      default: { $ref: "#/components/responses/EventNotTaken" },
    },
  });
  return Object.fromEntries(eventTypes.map((type) => [type, { post: operationOf(type) }]));
}
