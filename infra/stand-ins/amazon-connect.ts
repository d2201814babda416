import { randomUUID } from "node:crypto";
import * as z from "#shared/lib/zod.ts";
import { signatureProblem } from "./amazon-signature.ts";
import { e164, endpoint, type Memory, type StandInType, text, unchecked } from "./endpoint.ts";
import { progressOf } from "./life.ts";

const attributesBytesMax = 32_768;
const callSchema = z
  .strictObject({
    InstanceId: text.check(z.maxLength(250)),
    ContactFlowId: text.check(z.maxLength(500)),
    DestinationPhoneNumber: e164,
    SourcePhoneNumber: z.optional(e164),
    QueueId: z.optional(text),
    ClientToken: z.optional(text.check(z.maxLength(500))),
    Attributes: z.optional(
      z
        .record(z.string().check(z.regex(/^[\w-]+$/, "must be alphanumeric, - or _")), z.string())
        .check(
          z.refine(
            (attributes) => Buffer.byteLength(JSON.stringify(attributes)) <= attributesBytesMax,
            "is too large",
          ),
        ),
    ),
    AnswerMachineDetectionConfig: z.optional(
      z.strictObject({
        EnableAnswerMachineDetection: z.optional(z.boolean()),
        AwaitAnswerMachinePrompt: z.optional(z.boolean()),
      }),
    ),
    CampaignId: z.optional(text),
    TrafficType: z.optional(z.enum(["GENERAL", "CAMPAIGN"])),
    Name: z.optional(z.string()),
    Description: z.optional(z.string()),
    RelatedContactId: z.optional(text),
    ...unchecked("References"),
    RingTimeoutInSeconds: z.optional(z.int().check(z.minimum(15), z.maximum(60))),
  })
  .check(
    z.refine(({ SourcePhoneNumber, QueueId }) => (SourcePhoneNumber ?? QueueId) !== undefined, {
      path: ["SourcePhoneNumber"],
      error: "SourcePhoneNumber or QueueId is required",
    }),
  );

/** Time for which a `ClientToken` stays the same call. */
const tokenMs = 7 * 86_400_000;

/**
 * Amazon Connect (https://docs.aws.amazon.com/connect/latest/APIReference/API_StartOutboundVoiceContact.html):
 * a `ClientToken` starts one contact in seven days, unless a test has ended that contact; a contact is read
 * (…/API_DescribeContact.html). Nothing is looked up there, so its lists are left out. Requests are signed. Errors are `{message}`, their name in a header.
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
      endpoints: [startContact(memory), describeContact(memory)],
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

const reasons = {
  completed: "CUSTOMER_DISCONNECT",
  voicemail: "CUSTOMER_DISCONNECT",
  no_answer: "TELECOM_TIMEOUT",
  busy: "TELECOM_BUSY",
};

function describeContact(memory: Memory) {
  return endpoint({
    method: "GET",
    path: /^\/contacts\/(?<instance>[^/]+)\/(?<contact>[^/]+)$/,
    purpose: "look_up",
    perform({ path }) {
      const call = memory.calls.find(path["contact"] ?? "");
      if (call === undefined || call.request["InstanceId"] !== path["instance"]) {
        return errorOf(404, "ResourceNotFoundException", "There is no such contact.");
      }
      const { state, fate, answeredAt, endedAt } = progressOf(call, memory);
      const seconds = (time: number | undefined) => (time === undefined ? undefined : time / 1000);
      const Contact = {
        Id: call.id,
        Channel: "VOICE",
        InitiationMethod: "API",
        InitiationTimestamp: seconds(call.at),
        ConnectedToSystemTimestamp: seconds(answeredAt),
        DisconnectTimestamp: seconds(endedAt),
        ...(state === "ended" ? { DisconnectReason: call.endedReason ?? reasons[fate] } : {}),
      };
      return { status: 200, body: { Contact } };
    },
  });
}
