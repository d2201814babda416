/**
 * Amazon Connect: `PUT /contact/outbound-voice`
 * (https://docs.aws.amazon.com/connect/latest/APIReference/API_StartOutboundVoiceContact.html), signed by AWS
 * Signature Version 4. On Lambda the function's role signs. Elsewhere, or for an instance of another AWS
 * account, the account's secrets do: `AMAZON_CONNECT_ACCESS_KEY_ID` and `AMAZON_CONNECT_SECRET_ACCESS_KEY`.
 *
 * ```json
 * {"InstanceId": "…", "ContactFlowId": "…", "DestinationPhoneNumber": "+12025550123",
 *  "SourcePhoneNumber": "+12025550100", "ClientToken": "call_…",
 *  "Attributes": {"first_name": "Ada", "call_id": "call_…"}}
 * ```
 *
 * 200 with `ContactId`: placed. For seven days a repeated `ClientToken` gets the id of the contact that it started,
 * so a call of unknown outcome is resent under its id (`isIdempotent`), within one day at most. Copies of the
 * reference from before 2020 added that a new contact is started if the first one is disconnected. Today's reference
 * does not; `idempotent: false` serves users who do not rely on it.
 *
 * The result is read by `GET /contacts/{InstanceId}/{ContactId}`
 * (https://docs.aws.amazon.com/connect/latest/APIReference/API_DescribeContact.html).
 *
 * Errors have names, in `x-amzn-errortype` or `__type`: see `refusedBy`. A missing flow or instance is an error of
 * the route.
 */
import type { CallRequest, Route } from "../calls/call-request.ts";
import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { defineProvider, defineRoute, idText, phoneNumber } from "./define-provider.ts";
import { type Answer, toOutcome, post, type Refusal, createTable } from "./provider-http.ts";
import {
  createAnswerers,
  optionalNumber,
  readRecord,
  type RecordType,
  resultOf,
  ringOutMsMin,
  createWords,
} from "./provider-records.ts";
import type { DialOutcome, ReadResult } from "./provider.ts";

export function isConnectRoute(route: Route): route is ConnectRoute {
  return route.provider === "amazon-connect";
}

/** Maximum size of all attributes of a contact, names and values in UTF-8. */
const attributeBytesMax = 32_768;

/** Attribute that holds the call's id, beside those of the context. */
const ownAttribute = "call_id";

/** Bytes reserved for `ownAttribute`: its name and a call's id of 37 characters. */
const ownBytesMax = 64;

/** Routes of Amazon Connect, as a dial plan has them. */
export const amazonConnectRoutes = defineRoute(
  "amazon-connect",
  (fields) =>
    z.strictObject({
      ...fields,
      baseUrl: z.optional(httpsUrl),
      /** AWS region of the instance. */
      region: z
        .string()
        .check(z.regex(/^[a-z]{2}(-[a-z]+)+-\d$/, "must be a region such as us-east-1")),
      /** Id of the instance. It becomes a part of the ARN in the dialer's policy, so only an id is accepted. */
      instance: z.guid("must be the id of an instance, the last part of its ARN"),
      /** Id of the flow that takes the answered call. */
      flow: idText,
      /** The calling number, claimed for the instance. */
      from: phoneNumber,
      /** False: a call of unknown outcome is not resent under its token, but waits for a person. */
      idempotent: z._default(z.boolean(), true),
    }),
  {
    // Default quota of an AWS account in a region. Amazon Connect refuses calls above it and queues none.
    callsPerSecond: 2,
    hasCallerId: true,
    secrets: (_route, hasRole) => (hasRole ? [] : ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY"]),
    contextProblem,
  },
);
export type ConnectRoute = z.infer<typeof amazonConnectRoutes.routeSchema>;

/** Attributes have a limited set of characters for names, and a limited total size. */
function contextProblem({ context = {} }: CallRequest): string | undefined {
  const names = Object.keys(context);
  if (!names.every((name) => /^[\w-]+$/.test(name))) {
    return "must have keys of A–Z, a–z, 0–9, - and _ alone, as the attributes of Amazon Connect";
  }
  if (names.includes(ownAttribute)) {
    return `must not have the key ${ownAttribute}, which is an attribute of our own`;
  }
  const bytes = Object.entries(context).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
  return bytes > attributeBytesMax - ownBytesMax
    ? `is too large for Amazon Connect, which takes ${attributeBytesMax} bytes of attributes`
    : undefined;
}

export const amazonConnect = /* @__PURE__ */ defineProvider(
  amazonConnectRoutes,
  ({ secret, role, fetch, now }) => {
    const credentialsOf = (account: string) => {
      const accessKeyId = secret(account, "ACCESS_KEY_ID") ?? "";
      const secretAccessKey = secret(account, "SECRET_ACCESS_KEY") ?? "";
      // The secrets of an account named `aws` would have the same names as the role's variables, which also need a
      // session token.
      const hasOwn = accessKeyId !== "" && accessKeyId !== role?.accessKeyId;
      return !hasOwn && role !== undefined ? role : { accessKeyId, secretAccessKey };
    };
    const baseUrlOf = ({ region, baseUrl }: ConnectRoute) =>
      baseUrl ?? `https://connect.${region}.amazonaws.com`;
    const signedHeaders = async (
      { account, region }: ConnectRoute,
      request: { method: string; url: string; headers?: Record<string, string>; body?: string },
    ) => {
      const { signAwsRequest } = await import("./aws-signature.ts");
      return signAwsRequest(
        request,
        { service: "connect", region, ...credentialsOf(account) },
        now(),
      );
    };
    return {
      async dial({ call: { id, request }, timeoutSeconds, guarded }, route) {
        const { instance, flow, from } = route;
        const url = `${baseUrlOf(route)}/contact/outbound-voice`;
        const body = JSON.stringify({
          InstanceId: instance,
          ContactFlowId: flow,
          DestinationPhoneNumber: request.phone_number,
          SourcePhoneNumber: from,
          ClientToken: id,
          Attributes: { ...request.context, [ownAttribute]: id },
        });
        const content = { "content-type": "application/json" };
        const headers = await signedHeaders(route, { method: "PUT", url, headers: content, body });
        const answer = await post(guarded(fetch), url, {
          method: "PUT",
          headers,
          body,
          timeoutSeconds,
        });
        return "kind" in answer ? answer : outcomeOf(answer, now());
      },

      async readResult(placed, route) {
        const path = `contacts/${route.instance}/${encodeURIComponent(placed.providerCallId)}`;
        const url = `${baseUrlOf(route)}/${path}`;
        const headers = await signedHeaders(route, { method: "GET", url });
        return readRecord(placed, { url, headers, record }, fetch);
      },
    };
  },
);

const createdSchema = () =>
  z.object({ ContactId: z.string().check(z.minLength(1), z.maxLength(256)) });

function callIdIn(body: unknown): string | undefined {
  return z.built(createdSchema).safeParse(body).data?.ContactId;
}

/** The message is spelled `message` or `Message`. */
const errorSchema = () =>
  z.object({
    __type: z.optional(z.string()),
    message: z.optional(z.string()),
    Message: z.optional(z.string()),
  });

/** Statuses of refusals in the references. Under another status, an error's name proves nothing. */
const refusing = new Set([400, 401, 402, 403, 404, 422, 429]);

function outcomeOf(answer: Answer, now: number): DialOutcome {
  return toOutcome(
    answer,
    {
      callIdIn,
      exception: (status, body) => {
        if (!refusing.has(status)) return undefined;
        const error = z.built(errorSchema).safeParse(body).data;
        const errorType = answer.headers.get("x-amzn-errortype") ?? error?.["__type"];
        // Both may have text around the name: com.example#NameException, NameException:http://example.com/.
        const name = /^(?:[^:]*#)?(\w+?)(?:Exception)?(?::.*)?$/.exec(errorType ?? "")?.[1] ?? "";
        const refusal = refusedBy.get(name);
        const words = name.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
        // Users are answered "DestinationPhoneNumber not in E164 format".
        const isOfNumber = /\bDestinationPhoneNumber\b/.test(
          error?.message ?? error?.Message ?? "",
        );
        const blame = name === "InvalidParameter" && isOfNumber ? { blamesNumber: true } : {};
        return refusal && { ...refusal, ...blame, code: `connect_${words}` };
      },
    },
    now,
  );
}

/**
 * Outcomes by the names of errors, without `Exception`: those of the request's reference and the common ones
 * (https://docs.aws.amazon.com/connect/latest/APIReference/CommonErrors.html). `DestinationNotAllowed` may concern
 * the country, so it counts for the backlog's breaker. Of `OutboundContactNotPermitted` the reference says only that
 * the contact is not permitted: a person decides. `RequestAborted` is missing: it is a 400, but does not say how far
 * the request came.
 */
const refusedBy = /* @__PURE__ */ createTable<Refusal>(
  [{ kind: "not_placed" }, "LimitExceeded Throttling TooManyRequests"],
  [{ kind: "rejected" }, "DestinationNotAllowed InvalidParameter InvalidRequest"],
  [{ kind: "forbidden" }, "OutboundContactNotPermitted"],
  [{ kind: "route_refused" }, "ResourceNotFound UnknownOperation"],
  [{ kind: "unknown" }, "InternalService RequestAborted"],
  [
    { kind: "account_refused" },
    "AccessDenied UnrecognizedClient ExpiredToken InvalidSignature SignatureDoesNotMatch " +
      "IncompleteSignature MissingAuthenticationToken InvalidClientTokenId " +
      "NotAuthorized OptInRequired RequestExpired",
  ],
);

/**
 * Values of `DisconnectReason` (https://docs.aws.amazon.com/connect/latest/adminguide/ctr-data-model.html). A reason
 * that names who hung up does not prove an answer. `ConnectedToSystemTimestamp`, the time of the callee's answer,
 * does, whatever the reason. `TELECOM_UNANSWERED`: "cannot deliver the call at this time". `TELECOM_ORIGINATOR_CANCEL`
 * stands for a phone that rang out and for a call that was cancelled before: the time since `InitiationTimestamp` tells
 * them apart.
 */
const words = /* @__PURE__ */ createWords(
  ["live", "live"],
  ["no_answer", "TELECOM_TIMEOUT"],
  ["busy", "TELECOM_BUSY"],
  ["invalid", "TELECOM_NUMBER_INVALID"],
  ["blocked", "TELECOM_POTENTIAL_BLOCKING"],
  [
    "failed",
    "TELECOM_PROBLEM OUTBOUND_DESTINATION_ENDPOINT_ERROR OUTBOUND_RESOURCE_ERROR " +
      "OUTBOUND_ATTEMPT_FAILED OUTBOUND_PREVIEW_DISCARDED TELECOM_UNANSWERED " +
      "CUSTOMER_NEVER_ARRIVED EXPIRED",
  ],
  [
    "unknown",
    "TELECOM_ORIGINATOR_CANCEL CUSTOMER_DISCONNECT AGENT_DISCONNECT THIRD_PARTY_DISCONNECT CONTACT_FLOW_DISCONNECT " +
      "BARGED OTHER",
  ],
);

/** Values of `AnsweringMachineDetectionStatus`, which only campaigns have. Other values say nothing. */
const answeredBy = /* @__PURE__ */ createAnswerers(
  "HUMAN_ANSWERED",
  "VOICEMAIL_BEEP VOICEMAIL_NO_BEEP FAX_MACHINE_DETECTED",
);

/** Times are in seconds since the epoch. */
const contactSchema = () =>
  z.object({
    Contact: z.object({
      Id: z.string().check(z.minLength(1), z.maxLength(256)),
      DisconnectReason: z.nullish(z.string()),
      InitiationTimestamp: optionalNumber(),
      ConnectedToSystemTimestamp: z.nullish(z.number()),
      DisconnectTimestamp: z.nullish(z.number()),
      AnsweringMachineDetectionStatus: z.nullish(z.string()),
    }),
  });

function resultOfContact({ Contact }: z.infer<ReturnType<typeof contactSchema>>): ReadResult {
  const { DisconnectReason, ConnectedToSystemTimestamp, DisconnectTimestamp } = Contact;
  const { InitiationTimestamp } = Contact;
  const lastedMs = ((DisconnectTimestamp ?? 0) - (InitiationTimestamp ?? Infinity)) * 1000;
  const isLive = DisconnectTimestamp == null && !DisconnectReason;
  return resultOf(words, {
    word: isLive ? "live" : DisconnectReason,
    isAnswered: !isLive && ConnectedToSystemTimestamp != null,
    hasRungOut: DisconnectReason === "TELECOM_ORIGINATOR_CANCEL" && lastedMs >= ringOutMsMin,
    human: answeredBy.get(Contact.AnsweringMachineDetectionStatus ?? ""),
    answeredAt: (ConnectedToSystemTimestamp ?? Number.NaN) * 1000,
    endedAt: (DisconnectTimestamp ?? Number.NaN) * 1000,
  });
}

const record: RecordType<z.infer<ReturnType<typeof contactSchema>>> = {
  schema: contactSchema,
  resultOf: resultOfContact,
};
