import { randomUUID } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import type { StandInCall } from "./calls.ts";
import {
  digits,
  e164,
  endpoint,
  isoTime,
  type Memory,
  type StandInType,
  text,
  unchecked,
} from "./endpoint.ts";
import { isoOf, type Progress, progressOf, wishOf } from "./life.ts";

const variables = z.record(z.string(), z.unknown());
const callSchema = z.strictObject({
  name: z.optional(z.string().check(z.maxLength(40))),
  assistantId: text,
  ...unchecked(
    "assistant",
    "customerId",
    "customers",
    "phoneNumber",
    "schedulePlan",
    "squad",
    "squadId",
    "squadOverrides",
    "transport",
    "workflow",
    "workflowId",
    "workflowOverrides",
  ),
  phoneNumberId: text,
  customer: z.strictObject({
    number: e164,
    externalId: z.optional(z.string().check(z.maxLength(40))),
    name: z.optional(z.string().check(z.maxLength(40))),
    extension: z.optional(z.string().check(z.maxLength(10))),
  }),
  assistantOverrides: z.optional(
    z.strictObject({
      variableValues: z.optional(variables),
      metadata: z.optional(variables),
      server: z.optional(z.looseObject({ url: z.url() })),
      serverMessages: z.optional(z.array(text)),
      maxDurationSeconds: z.optional(z.number()),
      voicemailDetection: z.optional(z.unknown()),
    }),
  ),
});
const listSchema = z.strictObject({
  id: z.optional(text),
  assistantId: z.optional(text),
  phoneNumberId: z.optional(text),
  limit: z.optional(digits.check(z.refine((limit) => Number(limit) <= 1000))),
  createdAtGt: z.optional(isoTime),
  createdAtLt: z.optional(isoTime),
  createdAtGe: z.optional(isoTime),
  createdAtLe: z.optional(isoTime),
});

/**
 * Vapi (https://docs.vapi.ai/api-reference/calls/create, …/list, …/get): places calls, reads one, and lists
 * them newest first, without a cursor. A call that finds no line stays `queued` until a test says what becomes
 * of it. Errors are `{message, error, statusCode}`, where `message` is an array if it is about fields.
 */
export const vapi: StandInType = {
  name: "vapi",
  secrets: { API_KEY: "stand-in-key" },
  create(memory) {
    const { secrets } = memory;
    return {
      credentialProblem: ({ headers }) =>
        headers.authorization === `Bearer ${secrets["API_KEY"]}` ? undefined : "the key is wrong",
      refuse({ fault, text: message }) {
        if (fault === "credentials") return errorOf(401, "Unauthorized", "Unauthorized");
        if (fault === "address") return errorOf(404, "Not Found", "Cannot find this path");
        return errorOf(400, "Bad Request", message.split("; "));
      },
      endpoints: [dial(memory), listCalls(memory), readCall(memory)],
    };
  },
};

const errorOf = (statusCode: number, error: string, message: unknown) => ({
  status: statusCode,
  body: { message, error, statusCode },
});

function dial(memory: Memory) {
  const { calls, settings } = memory;
  return endpoint({
    method: "POST",
    path: /^\/call$/,
    purpose: "call",
    body: callSchema,
    perform({ body }) {
      const { number, externalId: ourId } = body.customer;
      const subscriptionLimits = {
        concurrencyBlocked: !settings.hasLine,
        concurrencyLimit: 10,
        remainingConcurrentCalls: settings.hasLine ? 9 : 0,
      };
      const request = { ...body, subscriptionLimits };
      const call = calls.place({ id: randomUUID(), number, ourId, request });
      if (!settings.hasLine) call.status = "queued";
      return { status: 201, body: { ...rowOf(call, progressOf(call, memory)), status: "queued" } };
    },
  });
}

function listCalls(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/call$/,
    purpose: "look_up",
    query: listSchema,
    perform({ query }) {
      const { id, assistantId, phoneNumberId, limit = "100" } = query;
      const found = calls
        .listed()
        .filter(({ at }) => isInPeriod(at, query))
        .map((call) => rowOf(call, progressOf(call, memory)))
        .filter((row) => (id ?? row.id) === row.id)
        .filter((row) => (phoneNumberId ?? row.phoneNumberId) === row.phoneNumberId)
        .filter((row) => (assistantId ?? row.assistantId) === row.assistantId);
      return { status: 200, body: found.slice(0, Number(limit)) };
    },
  });
}

function readCall(memory: Memory) {
  const { calls } = memory;
  return endpoint({
    method: "GET",
    path: /^\/call\/(?<id>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const call = calls.find(path["id"] ?? "");
      return call === undefined
        ? errorOf(404, "Not Found", "Couldn't find the call")
        : { status: 200, body: recordOf(call, memory) };
    },
  });
}

const reasons = {
  completed: "customer-ended-call",
  voicemail: "voicemail",
  no_answer: "customer-did-not-answer",
  busy: "customer-busy",
};

function rowOf(
  { id, at, request, number, endedReason }: StandInCall,
  { state, fate, answeredAt, endedAt }: Progress,
) {
  const time = new Date(at).toISOString();
  return {
    id,
    orgId: "org-of-the-stand-in",
    type: "outboundPhoneCall",
    createdAt: time,
    updatedAt: time,
    status: state,
    ...(answeredAt === undefined ? {} : { startedAt: isoOf(answeredAt) }),
    ...(state === "ended"
      ? { endedReason: endedReason ?? reasons[fate], endedAt: isoOf(endedAt) }
      : {}),
    name: request["name"],
    subscriptionLimits: request["subscriptionLimits"],
    assistantId: request["assistantId"],
    phoneNumberId: request["phoneNumberId"],
    customer: request["customer"] ?? { number },
    assistantOverrides: request["assistantOverrides"] ?? {},
  };
}

/** Returns the record of one call, with the analysis of one that has ended. */
function recordOf(call: StandInCall, memory: Memory) {
  const progress = progressOf(call, memory);
  const row = rowOf(call, progress);
  const structuredData = { call_back_at: wishOf(call, progress, memory) ?? null };
  return progress.state === "ended" ? { ...row, analysis: { structuredData } } : row;
}

function isInPeriod(
  at: number,
  { createdAtGt, createdAtLt, createdAtGe, createdAtLe }: z.infer<typeof listSchema>,
): boolean {
  const time = (given: string | undefined, otherwise: number) =>
    given === undefined ? otherwise : Date.parse(given);
  return (
    at > time(createdAtGt, -1) &&
    at >= time(createdAtGe, 0) &&
    at < time(createdAtLt, Infinity) &&
    at <= time(createdAtLe, Infinity)
  );
}
