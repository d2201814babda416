import { handle, type LambdaEvent } from "hono/aws-lambda";
import { describe, expect, it } from "vitest";
import { adaptEvent } from "#functions/api/lambda-event.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

const { app } = createTestApi();
const headers = { authorization: `Bearer ${tokens.operator}` };

/** Returns an event of an HTTP API (payload 2.0), whose gateway decodes the path, and keeps the line of the request nowhere. */
function eventOf(rawPath: string): LambdaEvent {
  const http = { method: "GET", path: rawPath, protocol: "HTTP/1.1", sourceIp: "203.0.113.1" };
  const event: object = {
    version: "2.0",
    routeKey: "$default",
    rawPath,
    rawQueryString: "",
    headers: { ...headers, host: "calls.example.com" },
    requestContext: { domainName: "calls.example.com", stage: "prod", http },
    isBase64Encoded: false,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest does not matter here
  return event as LambdaEvent;
}

describe("a path of the operator's API in percent-encoding", () => {
  it.each([
    "/%6fperator/me",
    "/operator/%6de",
    "/%6Fperator",
    "/operator%2fme",
    "/%256fperator/me",
    "/operator/clients/a%2e",
    "/oper%61tor/page.js",
  ])("is unknown where the platform leaves it as it came: %s", async (path) => {
    const response = await app.request(path, { headers });
    expect(response.status).toBe(404);
  });

  it.each([
    "/v1/../operator/me",
    "/v1/%2e%2E/operator/me",
    "/v1/.%2e/operator/./me",
    "/v1\\..\\operator/me",
    "\\operator\\me",
    "/./operator/me",
    "/oper\tator/me",
    "/prod/v1/../operator/page.js",
    "/prod/%2e/operator/me",
  ])(
    "is unknown on AWS if it leads to the plain one only once it is resolved: %j",
    async (path) => {
      const answer = await handle(app)(adaptEvent(eventOf(path)));
      expect(answer).toMatchObject({ statusCode: 404 });
    },
  );

  it("is the plain one behind API Gateway, which decodes it before", async () => {
    const answer = await handle(app)(adaptEvent(eventOf("/prod/operator/me")));
    expect(answer).toMatchObject({ statusCode: 200, body: expect.stringContaining('"operator"') });
  });
});
