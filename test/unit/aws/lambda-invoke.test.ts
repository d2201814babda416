import { afterEach, describe, expect, it, vi } from "vitest";
import { type InvokeEndpoint, startInvokeEndpoint } from "#infra/local/invoke-endpoint.ts";
import { createWake } from "#shared/aws/lambda-invoke.ts";
import { startReceiver } from "#test/support/receiver.ts";
import { until } from "#test/support/service.ts";

const payload = '{"scheduled":"dispatch"}';
const credentials = { accessKeyId: "AKID", secretAccessKey: "secret", sessionToken: "session" };
const account = { region: "eu-central-1", credentials };
const wakeAt = (url: string, name = "the dispatcher") =>
  createWake(payload, {
    account,
    variables: { AWS_ENDPOINT_URL_LAMBDA: url, DISPATCHER_FUNCTION: name },
  });

let endpoint: InvokeEndpoint | undefined;
afterEach(() => endpoint?.stop());

async function startEndpoint(invoke: (event: unknown) => Promise<unknown>) {
  endpoint = await startInvokeEndpoint();
  endpoint.add("the dispatcher", { name: "dispatcher", invoke, stop: async () => undefined });
  return endpoint.url;
}

describe("waking the dispatcher's function", () => {
  it("hands over the event, and does not wait until the function has ended", async () => {
    const events: unknown[] = [];
    const url = await startEndpoint((event) => {
      events.push(event);
      return new Promise(() => undefined);
    });
    await wakeAt(url)();
    await until(() => events.length === 1, { everyMs: 5 });
    expect(events).toEqual([{ scheduled: "dispatch" }]);
  });

  it("outlives a function that fails", async () => {
    const url = await startEndpoint(async () => Promise.reject(new Error("its process died")));
    await wakeAt(url)();
    await wakeAt(url)();
  });

  it("fails where there is no function of that name", async () => {
    const url = await startEndpoint(async () => undefined);
    await expect(wakeAt(url, "another")()).rejects.toThrow("answered 404");
  });

  it("signs one asynchronous request, without a header by which Lambda counts a loop", async () => {
    const { received, url, close } = await startReceiver((_, response) =>
      response.writeHead(500).end(),
    );
    vi.stubEnv("_X_AMZN_TRACE_ID", "Root=1-2-3");
    await expect(wakeAt(url)()).rejects.toThrow("answered 500");
    vi.unstubAllEnvs();
    await close();
    expect(received).toHaveLength(1);
    expect(received[0]?.path).toBe("/2015-03-31/functions/the%20dispatcher/invocations");
    expect(received[0]?.headers).toMatchObject({
      "x-amz-invocation-type": "Event",
      "x-amz-security-token": "session",
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-central-1\/lambda\/aws4_request/,
      ),
    });
    expect(received[0]?.headers).not.toHaveProperty("x-amzn-trace-id");
  });
});
