import { AwsV4Signer } from "aws4fetch";
import * as z from "../platform/zod.ts";
import type { DialOutcome, ProviderAdapter } from "./dialing-provider.ts";
import { type Answer, outcomeOfJson, post } from "./post.ts";
import { connectRecord } from "./results/amazon-connect.ts";
import { readRecord } from "./results/result.ts";
import { type ConnectRoute, ownAttribute } from "./routes/amazon-connect.ts";

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
 * 200 with `ContactId`: placed. For seven days, a repeated `ClientToken` is answered with the id of the
 * contact that it has started, so a call of unknown outcome is sent again under its id (`isIdempotent`), one
 * day at most. Copies of the reference from before 2020 added that a new contact is started if the first one
 * is disconnected. The present reference does not; `idempotent: false` is for whoever will not rely on it.
 *
 * The result is read by `GET /contacts/{InstanceId}/{ContactId}`
 * (https://docs.aws.amazon.com/connect/latest/APIReference/API_DescribeContact.html).
 *
 * Errors are told apart by their names, in `x-amzn-errortype` or `__type`: see `refusedBy`. A flow or instance
 * that is missing is an error of the route.
 */
export const amazonConnect: ProviderAdapter<ConnectRoute> = {
  create({ secret, role, fetch, now }) {
    const credentialsOf = (account: string) => {
      const accessKeyId = secret(account, "ACCESS_KEY_ID") ?? "";
      const secretAccessKey = secret(account, "SECRET_ACCESS_KEY") ?? "";
      // The secrets of an account named `aws` have the names of the role's variables, which need a token too.
      const hasOwn = accessKeyId !== "" && accessKeyId !== role?.accessKeyId;
      return !hasOwn && role !== undefined ? role : { accessKeyId, secretAccessKey };
    };
    const baseUrlOf = ({ region, baseUrl }: ConnectRoute) =>
      baseUrl ?? `https://connect.${region}.amazonaws.com`;
    const signedHeaders = async (
      { provider, region }: ConnectRoute,
      request: { method: string; url: string; headers?: Record<string, string>; body?: string },
    ) => {
      const signed = await new AwsV4Signer({
        ...request,
        ...credentialsOf(provider),
        service: "connect",
        region,
        datetime: new Date(now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
      }).sign();
      return Object.fromEntries(signed.headers);
    };
    return {
      async dial({ call: { id, request }, timeoutSeconds }, route) {
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
        const answer = await post(fetch, url, { method: "PUT", headers, body }, timeoutSeconds);
        return "kind" in answer ? answer : outcomeOf(answer, now());
      },

      async readResult(placed, route) {
        const path = `contacts/${route.instance}/${encodeURIComponent(placed.providerCallId)}`;
        const url = `${baseUrlOf(route)}/${path}`;
        const headers = await signedHeaders(route, { method: "GET", url });
        return readRecord(fetch, url, headers, placed, connectRecord);
      },
    };
  },
};

const createdSchema = z.object({ ContactId: z.string().check(z.minLength(1), z.maxLength(256)) });
const errorSchema = z.object({ __type: z.string() });

function callIdIn(body: unknown): string | undefined {
  return createdSchema.safeParse(body).data?.ContactId;
}

function outcomeOf(answer: Answer, now: number): DialOutcome {
  return outcomeOfJson(answer, now, callIdIn, (status, body) => {
    if (!refusing.has(status)) return undefined;
    const errorType =
      answer.headers.get("x-amzn-errortype") ?? errorSchema.safeParse(body).data?.["__type"];
    // Either may have more around the name: com.example#NameException, NameException:http://example.com/.
    const name = /^(?:[^:]*#)?(\w+?)(?:Exception)?(?::.*)?$/.exec(errorType ?? "")?.[1] ?? "";
    return refusedBy.get(name);
  });
}

/** Statuses that the references give to refusals. Under another one a name says nothing of what was done. */
const refusing = new Set([400, 401, 402, 403, 404, 422, 429]);

const named = (names: string, outcome: (code: string) => DialOutcome) =>
  names.split(" ").map((name) => {
    const words = name.replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
    return [name, outcome(`connect_${words}`)] as const;
  });

/**
 * Outcomes by the names of errors, those of the call's own reference and the common ones
 * (https://docs.aws.amazon.com/connect/latest/APIReference/CommonErrors.html), without `Exception`. Of
 * `OutboundContactNotPermitted` the reference says only that the contact is not permitted: a person decides.
 * `RequestAborted` is a 400 too, and leaves open what was done before.
 */
const refusedBy: ReadonlyMap<string, DialOutcome> = new Map([
  ...named("LimitExceeded Throttling TooManyRequests", (code) => ({
    kind: "not_placed",
    code,
  })),
  ...named("DestinationNotAllowed", (code) => ({ kind: "rejected", code, blamesNumber: true })),
  ...named("InvalidParameter InvalidRequest", (code) => ({ kind: "rejected", code })),
  ...named("OutboundContactNotPermitted", (code) => ({ kind: "forbidden", code })),
  ...named("ResourceNotFound UnknownOperation", (code) => ({ kind: "route_refused", code })),
  ...named("InternalService RequestAborted", (code) => ({ kind: "unknown", code })),
  ...named(
    "AccessDenied UnrecognizedClient ExpiredToken InvalidSignature SignatureDoesNotMatch " +
      "IncompleteSignature MissingAuthenticationToken InvalidClientTokenId " +
      "NotAuthorized OptInRequired RequestExpired",
    (code) => ({ kind: "account_refused", code }),
  ),
]);
