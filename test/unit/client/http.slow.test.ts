import { globSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createAsk, urlIn } from "#infra/cli/calls/client.ts";
import { Failure, Misuse } from "#infra/cli/calls/failures.ts";
import { createClient } from "#infra/client/client.ts";
import { createSend, requireAddress } from "#infra/client/http.ts";
import { OutboundCallsError } from "#infra/client/errors.ts";
import { sendCall } from "#infra/mcp/send-call.ts";
import { createTools, type ToolsDeps } from "#infra/mcp/tools.ts";
import { startReceiver } from "#test/support/receiver.ts";

afterEach(() => vi.restoreAllMocks());

/** Creates the tools of the MCP server for a service. */
function toolsFor(url: string, fetchIt: ToolsDeps["fetch"] = fetch) {
  const environment = { OUTBOUND_CALLS_URL: url, OUTBOUND_CALLS_TOKEN: "oc_token" };
  const rest = { sleep: async () => undefined, now: Date.now, fetch: fetchIt };
  return createTools({ environment, isWriting: false, ...rest });
}
const call = { phone_number: "+12025550123", agent_id: "agent_sales" };

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
    expect(() => toolsFor(url)).toThrow(Misuse);
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

  it("follows no redirect, by the library, the command or the MCP server", async () => {
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
    await expect(client.placeCall(call)).rejects.toThrow(OutboundCallsError);
    const { response } = await client.api.GET("/v1/requests", {});
    const [reading] = toolsFor(service.url);
    await expect(reading?.run({})).rejects.toThrow(Failure);
    const sending = { url: service.url, token: "oc_token", fetch, sleep: async () => undefined };
    const placed = { body: JSON.stringify(call), key: "one", isRepeat: false };
    await expect(sendCall(placed, sending)).rejects.toThrow(Failure);
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

  it("has a time limit of its own, whoever sends it", async () => {
    const limits = vi.spyOn(AbortSignal, "timeout");
    const inits: RequestInit[] = [];
    const fetchIt = async (_: string, init: RequestInit) => {
      inits.push(init);
      return Response.json({});
    };
    const url = "https://calls.example.com";
    await createAsk({ url, base: "/operator", token: "oc_token" }, fetchIt)("/me");
    await toolsFor(url, fetchIt)[0]?.run({});
    const sending = { url, token: "oc_token", fetch: fetchIt, sleep: async () => undefined };
    const placed = { body: JSON.stringify(call), key: "one", isRepeat: false };
    await sendCall(placed, sending).catch(() => undefined);
    const { api } = createClient({
      baseUrl: url,
      token: "oc_token",
      fetch: async ({ redirect, signal }) => fetchIt(url, { redirect, signal }),
    });
    await api.GET("/v1/requests", {});
    expect(inits.length).toBeGreaterThanOrEqual(4);
    for (const { redirect, signal } of inits) {
      expect([redirect, signal instanceof AbortSignal]).toEqual(["manual", true]);
    }
    const seconds = new Set(limits.mock.calls.map(([ms]) => ms / 1_000));
    expect(seconds).toEqual(new Set([35, 25, 10]));
  });

  it("is sent by one client: nothing else of the library, the command or the MCP server calls fetch", () => {
    const files = globSync("infra/{cli,client,mcp}/**/*.ts", {
      exclude: ["**/node_modules", "**/generated"],
    });
    expect(files.length).toBeGreaterThan(80);
    const calling = files.filter((file) =>
      /(?<![\w.])fetch\(|\b(?:https?|net)\.(?:request|get|connect)\(/.test(
        readFileSync(file, "utf8"),
      ),
    );
    expect(calling.toSorted()).toEqual([
      "infra/cli/calls/terminal.ts", // a type
      "infra/cli/deploy/cloudflare-queues.ts", // Cloudflare's API
      "infra/client/client.ts",
      "infra/client/http.ts",
      "infra/client/retry.ts", // the library's own, with its limits
      "infra/mcp/send-call.ts", // a type
    ]);
  });
});
