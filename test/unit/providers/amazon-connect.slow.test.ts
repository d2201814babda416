import { describe, expect, it } from "vitest";
import { signatureProblem } from "#infra/stand-ins/amazon-signature.ts";
import { missingSecrets, neededSecrets, parseDialPlan } from "#test/support/plans.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { describeProvider } from "#test/contracts/provider.ts";
import { adapterOf, routeOf } from "#test/support/test-adapter.ts";
import { startTestReceiver } from "#test/support/test-receiver.ts";
import { aCall } from "#test/support/calls.ts";
import { amazonConnectAnswers } from "#test/support/provider-answers/amazon-connect.ts";
import { amazonConnectResults } from "#test/support/provider-results/amazon-connect.ts";
import { type Received } from "#test/support/receiver.ts";
import { firstOf } from "#test/support/first-of.ts";

const instance = "00fbeee1-123e-111e-93e3-11111bfbfcc1";
const flow = "846ec553-a005-41c0-8341-000000000000";
const fields = { region: "us-west-2", instance, flow, from: "+12025550100" };
const secrets = {
  AMAZON_CONNECT_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AMAZON_CONNECT_SECRET_ACCESS_KEY: "key/3+",
};

describeProvider({
  type: "amazon-connect",
  fields,
  secrets,
  requests: ({ id, request }) => [
    {
      method: "PUT",
      path: "/contact/outbound-voice",
      headers: {
        "content-type": "application/json",
        authorization: expect.stringMatching(
          /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/us-west-2\/connect\/aws4_request, SignedHeaders=host;x-amz-date, Signature=[\da-f]{64}$/,
        ),
        "x-amz-date": expect.stringMatching(/^\d{8}T\d{6}Z$/),
      },
      body: {
        InstanceId: instance,
        ContactFlowId: flow,
        DestinationPhoneNumber: request.phone_number,
        SourcePhoneNumber: "+12025550100",
        ClientToken: id,
        Attributes: { ...request.context, call_id: id },
      },
    },
  ],
  fixtures: amazonConnectAnswers,
  results: amazonConnectResults(fields.instance),
});

describe("Amazon Connect", () => {
  const time = Date.parse("2026-11-21T09:30:00.123Z");
  const routeFrom = (account: string, baseUrl: string, more: object = {}) =>
    routeOf("amazon-connect", { ...fields, account, ...more }, baseUrl);
  async function dial(
    environment: Record<string, string>,
    {
      account = "amazon-connect",
      headers = {},
      status = 200,
    }: { account?: string; headers?: Record<string, string>; status?: number } = {},
  ) {
    const receiver = await startTestReceiver((_request, response) => {
      response.writeHead(status, headers).end('{"ContactId":"c9f2"}');
    });
    const { provider, route } = adapterOf(
      routeFrom(account, receiver.url),
      environment,
      () => time,
    );
    const outcome = await provider.dial(
      { call: aCall(), attempt: 1, timeoutSeconds: 1, guarded: (own) => own },
      route,
    );
    const received = firstOf(receiver.received);
    return { outcome, received };
  }

  /** Returns what is wrong with a request's signature, by the algorithm of the IAM User Guide. */
  function signatureProblemOf(
    { method, path, headers, text }: Received,
    id: string,
    secret: string,
  ) {
    const request = { method, path, query: new URLSearchParams(), headers, text };
    return signatureProblem(request, { id, secret, service: "connect" }, time);
  }

  const role = {
    AWS_LAMBDA_FUNCTION_NAME: "dialer",
    AWS_ACCESS_KEY_ID: "ASIAROLE",
    AWS_SECRET_ACCESS_KEY: "role/key",
    AWS_SESSION_TOKEN: "token==",
  };

  it("is sent requests that AWS's own algorithm signs alike", async () => {
    const { received } = await dial(secrets);
    expect(received.headers["x-amz-date"]).toBe("20261121T093000Z");
    expect(signatureProblemOf(received, "AKIDEXAMPLE", "key/3+")).toBeUndefined();
    expect(received.headers["x-amz-security-token"]).toBeUndefined();
  });

  it("is signed for by the function's role on Lambda, without a secret", async () => {
    const { received } = await dial(role);
    const { authorization } = received.headers;
    expect(authorization).toContain("Credential=ASIAROLE/20261121/us-west-2/connect/");
    expect(authorization).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token");
    expect(signatureProblemOf(received, "ASIAROLE", "role/key")).toBeUndefined();
    expect(received.headers["x-amz-security-token"]).toBe("token==");
  });

  it("is signed for by an account's secrets on Lambda too, where it has some", async () => {
    const { received } = await dial({ ...role, ...secrets });
    expect(received.headers["authorization"]).toContain("Credential=AKIDEXAMPLE/");
    expect(received.headers["x-amz-security-token"]).toBeUndefined();
  });

  it("takes the role's variables for the role's, whatever an account is called", async () => {
    const { received } = await dial(role, { account: "aws" });
    expect(received.headers["x-amz-security-token"]).toBe("token==");
  });

  it("is not signed for by the variables of whoever started a process that is no function", async () => {
    const { AWS_LAMBDA_FUNCTION_NAME: _, ...variables } = role;
    const { received } = await dial({ ...variables, ...secrets });
    expect(received.headers["authorization"]).toContain("Credential=AKIDEXAMPLE/");
  });

  it.each([
    [
      "LimitExceededException:http://internal.amazon.com/coral/com.amazonaws.connect/",
      "limit_exceeded",
    ],
    ["com.amazonaws.connect#LimitExceededException", "limit_exceeded"],
    ["ThrottlingException", "throttling"],
  ])("names its refusals in a header too: %s", async (name, code) => {
    const { outcome } = await dial(secrets, {
      status: 429,
      headers: { "x-amzn-errortype": name, "retry-after": "7" },
    });
    expect(outcome).toEqual({ kind: "not_placed", code: `connect_${code}`, retryAfterSeconds: 7 });
  });

  const plan = parseDialPlan(
    {
      agents: { "*": { provider: "connect-eu", ...fields } },
      providers: { "connect-eu": { type: "amazon-connect" } },
      callingHours: { default: "always" },
      destinations: { allow: ["*"] },
    },
    {},
  );

  it("needs an account's secrets on every platform that has no role", () => {
    const names = ["CONNECT_EU_ACCESS_KEY_ID", "CONNECT_EU_SECRET_ACCESS_KEY"];
    expect(missingSecrets(plan, {})).toEqual(names);
    expect(missingSecrets(plan, { AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x" })).toEqual(
      names,
    );
    expect(missingSecrets(plan, role)).toEqual([]);
    expect([neededSecrets(plan, true), neededSecrets(plan, false)]).toEqual([[], names]);
  });

  it("takes a repeated token for the same call, unless the plan will not rely on it", () => {
    expect(routeFrom("amazon-connect", "https://example.com")).toMatchObject({ idempotent: true });
    const careful = routeFrom("amazon-connect", "https://example.com", { idempotent: false });
    expect(careful).toMatchObject({ idempotent: false });
  });

  it.each(["", "a b", "é", "a.b", "call_id"])("cannot carry a context with the key %j", (key) => {
    const { request } = aCall();
    const route = routeFrom("amazon-connect", "https://example.com");
    expect(routeKinds.contextProblem({ ...request, context: { [key]: "x" } }, route)).toMatch(
      /^must/,
    );
  });

  it("carries names and values of 32,768 bytes with its own, and no more", () => {
    const { id, request } = aCall();
    const route = routeFrom("amazon-connect", "https://example.com");
    const problemOf = (bytes: number) =>
      routeKinds.contextProblem(
        { ...request, context: { "first-Name_1": "x".repeat(bytes - 12) } },
        route,
      );
    expect(problemOf(32_768 - 64)).toBeUndefined();
    expect(problemOf(32_768 - 63)).toMatch(/^is too large/);
    expect("call_id".length + id.length).toBeLessThanOrEqual(64);
  });

  it.each([
    [{ instance: "*" }, /id of an instance/],
    [{ instance: `${instance}/contact/*` }, /id of an instance/],
    [{ region: "us-west-2.example.com/" }, /must be a region/],
    [{ from: "12025550100" }, /E.164/],
  ])("is refused the route fields %j", (more, message) => {
    expect(() => routeFrom("amazon-connect", "https://example.com", more)).toThrow(message);
  });
});
