import { randomUUID } from "node:crypto";
import * as z from "zod";
import { signatureProblem } from "./amazon-signature.ts";
import type { StandInCall } from "./calls.ts";
import { e164, endpoint, type Memory, type StandInType, text, unchecked } from "./endpoint.ts";

const attributesBytesMax = 32_768;
const callSchema = z
  .strictObject({
    InstanceId: text.max(250),
    ContactFlowId: text.max(500),
    DestinationPhoneNumber: e164,
    SourcePhoneNumber: e164.optional(),
    QueueId: text.optional(),
    ClientToken: text.max(500).optional(),
    Attributes: z
      .record(z.string().regex(/^[\w-]+$/, "must be alphanumeric, - or _"), z.string())
      .refine(
        (attributes) => Buffer.byteLength(JSON.stringify(attributes)) <= attributesBytesMax,
        "is too large",
      )
      .optional(),
    AnswerMachineDetectionConfig: z
      .strictObject({
        EnableAnswerMachineDetection: z.boolean().optional(),
        AwaitAnswerMachinePrompt: z.boolean().optional(),
      })
      .optional(),
    CampaignId: text.optional(),
    TrafficType: z.enum(["GENERAL", "CAMPAIGN"]).optional(),
    Name: z.string().optional(),
    Description: z.string().optional(),
    RelatedContactId: text.optional(),
    ...unchecked("References"),
    RingTimeoutInSeconds: z.int().min(15).max(60).optional(),
  })
  .refine(({ SourcePhoneNumber, QueueId }) => (SourcePhoneNumber ?? QueueId) !== undefined, {
    path: ["SourcePhoneNumber"],
    error: "SourcePhoneNumber or QueueId is required",
  });
const searchSchema = z.strictObject({
  InstanceId: text,
  TimeRange: z.strictObject({
    Type: z.enum(["INITIATION_TIMESTAMP", "SCHEDULED_TIMESTAMP", "DISCONNECT_TIMESTAMP"]),
    StartTime: z.number(),
    EndTime: z.number(),
  }),
  SearchCriteria: z.looseObject({}).optional(),
  MaxResults: z.int().min(1).max(100).optional(),
  NextToken: text.optional(),
});

/** Time for which a `ClientToken` stays the same call. */
const tokenMs = 7 * 86_400_000;

/**
 * Amazon Connect (https://docs.aws.amazon.com/connect/latest/APIReference/API_StartOutboundVoiceContact.html,
 * …/API_DescribeContact.html, …/API_SearchContacts.html): a `ClientToken` starts one contact in seven days,
 * unless that contact has ended. Requests are signed. Errors are `{message}`, their name in a header.
 */
export const amazonConnect: StandInType = {
  name: "amazon-connect",
  secrets: { ACCESS_KEY_ID: "AKIASTANDIN", SECRET_ACCESS_KEY: "secret-of-the-stand-in" },
  create(memory) {
    const { secrets, now } = memory;
    return {
      credentialProblem: (request) =>
        signatureProblem(
          request,
          {
            id: secrets["ACCESS_KEY_ID"] ?? "",
            secret: secrets["SECRET_ACCESS_KEY"] ?? "",
            service: "connect",
          },
          now(),
        ),
      refuse({ fault, text: message }) {
        if (fault === "credentials") return errorOf(403, "InvalidSignatureException", message);
        if (fault === "address") return errorOf(404, "UnknownOperationException", message);
        return errorOf(400, "InvalidParameterException", message);
      },
      endpoints: [startContact(memory), describeContact(memory), searchContacts(memory)],
    };
  },
};

const errorOf = (status: number, name: string, message: string) => ({
  status,
  body: { message },
  headers: { "x-amzn-errortype": name },
});

function startContact({ calls, now }: Memory) {
  return endpoint({
    method: "PUT",
    path: /^\/contact\/outbound-voice$/,
    purpose: "call",
    body: callSchema,
    perform({ body }) {
      const started = calls.placed.find(
        ({ request, at, status }) =>
          body.ClientToken !== undefined &&
          request["ClientToken"] === body.ClientToken &&
          status !== "ended" &&
          now() - at < tokenMs,
      );
      const number = body.DestinationPhoneNumber;
      const ourId =
        body.Attributes?.["call_id"] ??
        /^call_[0-9A-Z]{26}_\d{5}/.exec(body.ClientToken ?? "")?.[0];
      const call = started ?? calls.place({ id: randomUUID(), number, ourId, request: body });
      return { status: 200, body: { ContactId: call.id } };
    },
  });
}

function describeContact({ calls }: Memory) {
  return endpoint({
    method: "GET",
    path: /^\/contacts\/(?<instance>[^/]+)\/(?<id>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const call = calls.find(path["id"] ?? "");
      return call === undefined
        ? errorOf(404, "ResourceNotFoundException", "The contact was not found")
        : { status: 200, body: { Contact: rowOf(call) } };
    },
  });
}

function searchContacts({ calls }: Memory) {
  return endpoint({
    method: "POST",
    path: /^\/search-contacts$/,
    purpose: "look_up",
    body: searchSchema,
    perform({ body: { TimeRange, MaxResults = 10, NextToken = "0" } }) {
      const { StartTime, EndTime } = TimeRange;
      const rows = calls
        .listed()
        .filter(({ at }) => at >= StartTime * 1000 && at <= EndTime * 1000)
        .map(rowOf);
      const end = Number(NextToken) + MaxResults;
      const next = end < rows.length ? { NextToken: String(end) } : {};
      const Contacts = rows.slice(Number(NextToken), end);
      return { status: 200, body: { Contacts, TotalCount: rows.length, ...next } };
    },
  });
}

/** Returns a contact in Connect's form, which names neither the number nor the attributes. */
function rowOf({ id, at, status, request }: StandInCall) {
  const instance = typeof request["InstanceId"] === "string" ? request["InstanceId"] : "another";
  return {
    Id: id,
    Arn: `arn:aws:connect:us-east-1:000000000000:instance/${instance}/contact/${id}`,
    Channel: "VOICE",
    InitiationMethod: "API",
    InitiationTimestamp: at / 1000,
    ...(status === "ended" ? { DisconnectTimestamp: at / 1000 } : {}),
  };
}
