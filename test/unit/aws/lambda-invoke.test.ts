import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type InvokeEndpoint, startInvokeEndpoint } from "#infra/local/invoke-endpoint.ts";
import { createWake } from "#shared/aws/lambda-invoke.ts";
import { until } from "#test/support/service.ts";

const payload = '{"scheduled":"dispatch"}';
const variables = (url: string, name = "the dispatcher") => ({
  AWS_ENDPOINT_URL_LAMBDA: url,
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "AKID",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_SESSION_TOKEN: "session",
  DISPATCHER_FUNCTION: name,
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
    await createWake(variables(url), payload)();
    await until(() => events.length === 1, { everyMs: 5 });
    expect(events).toEqual([{ scheduled: "dispatch" }]);
  });

  it("outlives a function that fails", async () => {
    const url = await startEndpoint(async () => Promise.reject(new Error("its process died")));
    await createWake(variables(url), payload)();
    await createWake(variables(url), payload)();
  });

  it("fails where there is no function of that name", async () => {
    const url = await startEndpoint(async () => undefined);
    const wake = createWake(variables(url, "another"), payload);
    await expect(wake()).rejects.toThrow("answered 404");
  });

  it("signs one asynchronous request, without a header by which Lambda counts a loop", async () => {
    const seen: { path: string | undefined; headers: IncomingHttpHeaders }[] = [];
    const server = createServer(({ url: path, headers }, response) => {
      seen.push({ path, headers });
      response.writeHead(500).end();
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a pipe
    const { port } = server.address() as AddressInfo;
    const traced = { ...variables(`http://127.0.0.1:${port}`), _X_AMZN_TRACE_ID: "Root=1-2-3" };
    await expect(createWake(traced, payload)()).rejects.toThrow("answered 500");
    server.close();
    expect(seen).toHaveLength(1);
    expect(seen[0]?.path).toBe("/2015-03-31/functions/the%20dispatcher/invocations");
    expect(seen[0]?.headers).toMatchObject({
      "x-amz-invocation-type": "Event",
      "x-amz-security-token": "session",
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-central-1\/lambda\/aws4_request/,
      ),
    });
    expect(seen[0]?.headers).not.toHaveProperty("x-amzn-trace-id");
  });
});
