import type { AnswerFixture } from "#test/contracts/provider-bench.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";

const api = "docs.aws.amazon.com/connect/latest/APIReference";
const reference = `${api}/API_StartOutboundVoiceContact.html`;
const common = `${api}/CommonErrors.html`;

type Refusal = Exclude<DialOutcome["kind"], "placed">;

/** An error by its name. Its code is the name's words. */
const error = (
  page: string,
  status: number,
  name: string,
  kind: Refusal,
  more: object = {},
): AnswerFixture => {
  const words = name.replace(/Exception$/, "").replaceAll(/(?<!^)[A-Z]/g, (letter) => `_${letter}`);
  return {
    page: `${page}: ${name}`,
    says: `\`${name}\``,
    status,
    body: { __type: name, Message: "about +12025550123" },
    outcome: { kind, code: `connect_${words.toLowerCase()}`, ...more },
  };
};
const ofAccount = (status: number, name: string, page = common) =>
  error(page, status, name, "account_refused");
/** An error whose name says no more than its status. */
const byStatus = (status: number, name: string, page = reference): AnswerFixture => ({
  ...error(page, status, name, "unknown"),
  outcome: { kind: "unknown", code: `http_${status}` },
});

export const amazonConnectAnswers: AnswerFixture[] = [
  {
    page: reference,
    says: "a contact, or the one that the token has started",
    status: 200,
    body: { ContactId: "c9f2d1a0-0000-4000-8000-000000000001" },
    outcome: { kind: "placed", providerCallId: "c9f2d1a0-0000-4000-8000-000000000001" },
  },
  error(reference, 429, "LimitExceededException", "not_placed"),
  // The reference does not have it; users are answered it above two calls a second.
  error("dev.classmethod.jp, as users have seen it", 429, "TooManyRequestsException", "not_placed"),
  error(common, 400, "ThrottlingException", "not_placed"),
  error(reference, 403, "DestinationNotAllowedException", "rejected"),
  error(reference, 403, "OutboundContactNotPermittedException", "forbidden"),
  error(reference, 400, "InvalidParameterException", "rejected"),
  {
    ...error(reference, 400, "InvalidParameterException", "rejected", { blamesNumber: true }),
    page: "aws-samples/amazon-pinpoint-connect-callback-requestor issue 6, as a user has seen it",
    source: "capture",
    says: "`InvalidParameterException` that names the number",
    body: {
      __type: "InvalidParameterException",
      Message: "DestinationPhoneNumber not in E164 format",
    },
  },
  error(reference, 400, "InvalidRequestException", "rejected"),
  error(reference, 404, "ResourceNotFoundException", "route_refused"),
  error(common, 404, "UnknownOperationException", "route_refused"),
  ofAccount(403, "AccessDeniedException"),
  ofAccount(403, "ExpiredTokenException"),
  ofAccount(403, "UnrecognizedClientException"),
  ofAccount(403, "IncompleteSignature"),
  ofAccount(401, "NotAuthorized"),
  ofAccount(403, "OptInRequired"),
  ofAccount(400, "RequestExpired"),
  ofAccount(
    403,
    "InvalidClientTokenId",
    "docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors",
  ),
  ofAccount(
    403,
    "MissingAuthenticationToken",
    "docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors",
  ),
  ofAccount(400, "InvalidSignatureException", "docs.aws.amazon.com/storagegateway, Exceptions"),
  ofAccount(
    403,
    "SignatureDoesNotMatch",
    "docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html",
  ),
  error(common, 400, "RequestAbortedException", "unknown"),
  byStatus(408, "RequestTimeoutException", common),
  byStatus(500, "InternalServiceException"),
  byStatus(503, "ServiceUnavailable", common),
  {
    ...byStatus(405, "ExpiredTokenException", common),
    page: `${common}: ExpiredTokenException under another status`,
    says: "`ExpiredTokenException`, under a status that it does not have",
  },
  {
    ...byStatus(500, "ThrottlingException", common),
    page: `${common}: ThrottlingException under another status`,
    says: "`ThrottlingException`, under a status that it does not have",
  },
  byStatus(409, "IdempotencyException", `${reference}, which lacks it`),
];
