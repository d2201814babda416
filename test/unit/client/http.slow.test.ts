import { describe, expect, it } from "vitest";
import { createAsk, urlIn } from "#infra/cli/calls/client.ts";
import { Failure, Misuse } from "#infra/cli/calls/failures.ts";
import { createClient } from "#infra/client/client.ts";
import { createSend, requireAddress } from "#infra/client/http.ts";
import { OutboundCallsError } from "#infra/client/errors.ts";
import { startReceiver } from "#test/support/receiver.ts";

const refused = [
  "http://calls.example.com",
  "http://127.0.0.1.example.com",
  "http://127.0.0.1@calls.example.com",
  "https://user:word@calls.example.com",
  "ftp://127.0.0.1",
  "calls.example.com",
];

describe("a request to the service", () => {
  it.each(refused)("is not sent to %s", async (url) => {
    expect(() => requireAddress(url)).toThrow(RangeError);
    expect(() => createClient({ baseUrl: url, token: "oc_token" })).toThrow(RangeError);
    expect(() => urlIn({ OUTBOUND_CALLS_URL: url })).toThrow(Misuse);
    const send = createSend(async () => expect.unreachable());
    await expect(send(new URL(url, "http://calls.example.com").href, {})).rejects.toThrow(
      RangeError,
    );
  });

  it("is not sent to an address with a query, to which no path can be added", () => {
    expect(() => requireAddress("https://calls.example.com/?to=1")).toThrow(RangeError);
  });

  it.each([
    "https://calls.example.com/prod/",
    "http://127.0.0.1:8787",
    "http://localhost",
    "http://[::1]:1",
  ])("may be sent to %s", (url) => {
    expect(requireAddress(url)).toBe(url.replace(/\/$/, ""));
    expect(() => createClient({ baseUrl: url, token: "oc_token" })).not.toThrow();
  });

  it("follows no redirect, by the library nor by the command", async () => {
    const seen: string[] = [];
    const target = await startReceiver((request, response) => {
      seen.push(request.path);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    const service = await startReceiver((_, response) =>
      response.writeHead(307, { location: `${target.url}/elsewhere` }).end(),
    );
    const fetchIt = (url: string, init: RequestInit) => fetch(url, init);
    const ask = createAsk({ url: service.url, base: "/operator", token: "oc_token" }, fetchIt);
    await expect(ask("/me")).rejects.toThrow(Failure);
    const client = createClient({ baseUrl: service.url, token: "oc_token" });
    const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
    await expect(client.placeCall(call)).rejects.toThrow(OutboundCallsError);
    const { response } = await client.api.GET("/v1/requests", {});
    expect([response.status, seen]).toEqual([307, []]);
    await Promise.all([target.close(), service.close()]);
  });

  it("ends after its time, also while the answer is read", async () => {
    const service = await startReceiver((request, response) => {
      if (request.path === "/cut") response.writeHead(200).write("{");
    });
    const send = createSend((url, init) => fetch(url, init), 200);
    await expect(send(`${service.url}/silent`, {})).rejects.toThrow("timeout");
    const answer = await send(`${service.url}/cut`, {});
    await expect(answer.text()).rejects.toThrow("timeout");
    const client = createClient({
      baseUrl: service.url,
      token: "oc_token",
      retry: { tryMsMax: 200 },
    });
    await expect(client.api.GET("/v1/requests", {})).rejects.toThrow("timeout");
    await service.close();
  });
});
