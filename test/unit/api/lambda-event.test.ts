import { Hono } from "hono";
import { handle, type LambdaEvent } from "hono/aws-lambda";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { adaptEvent } from "#functions/api/lambda-event.ts";

/** Returns a payload 2.0 event with the fields that routing uses. */
const eventOf = (rawPath: string, stage: string, method = "POST") =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest does not matter here
  ({ rawPath, body: "{}", requestContext: { stage, http: { method } } }) as unknown as LambdaEvent;
const routed = (path: string, stage: string, basePath?: string) =>
  adaptEvent(eventOf(path, stage), basePath);

describe("the path of an event", () => {
  it.each([
    ["/v1/calls", "$default", undefined, "/v1/calls"],
    ["/prod/v1/calls", "prod", undefined, "/v1/calls"],
    ["/prod", "prod", undefined, "/"],
    ["/production/v1/calls", "prod", undefined, "/production/v1/calls"],
    ["/v1/calls", "prod", undefined, "/v1/calls"],
    ["/phone/v1/calls", "$default", "/phone", "/v1/calls"],
    ["/prod/phone/v1/calls", "prod", "/phone/", "/v1/calls"],
    ["/phoney/v1/calls", "$default", "/phone", "/phoney/v1/calls"],
  ])("%s at the stage %s, base path %s, is %s", (path, stage, basePath, expected) => {
    expect(routed(path, stage, basePath)).toMatchObject({ rawPath: expected });
  });

  it("joins a header that came twice, so that the routes see both", () => {
    const multiValueHeaders = { Authorization: ["Bearer a", "Bearer b"], "Idempotency-Key": ["k"] };
    const event = Object.assign(eventOf("/v1/calls", "$default"), { multiValueHeaders });
    expect(adaptEvent(event)).toMatchObject({
      multiValueHeaders: { Authorization: ["Bearer a, Bearer b"], "Idempotency-Key": ["k"] },
    });
  });

  it.each([
    { host: "a b", path: "/v1/callbacks/code" },
    { host: "a:b", path: "/v1/callbacks/code" },
    { host: "user:word@a.example", path: "/v1/callbacks/code" },
    { host: "a.example", path: "@b.example/code" },
  ])("is not printed if no URL can be made of host and path: %j", async ({ host, path }) => {
    const printed = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => printed.mockRestore());
    const event = {
      requestContext: { elb: {} },
      httpMethod: "POST",
      path,
      headers: { host },
      body: "",
    };
    const app = new Hono().notFound((c) => c.text("none", 404));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest does not matter here
    const answer = await handle(app)(adaptEvent(event as unknown as LambdaEvent));
    expect(answer).toMatchObject({ statusCode: 404, body: "none" });
    expect(printed).not.toHaveBeenCalled();
  });

  it("leaves a GET without the body that no Request takes", () => {
    expect(adaptEvent(eventOf("/v1/calls", "$default", "GET")).body).toBeNull();
    expect(adaptEvent(eventOf("/v1/calls", "$default")).body).toBe("{}");
  });
});
