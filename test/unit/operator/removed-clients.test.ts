import { describe, expect, it } from "vitest";
import { createTestApi } from "#test/support/api.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, message, webhook } from "#test/support/dialer-calls.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { createToken } from "#shared/settings/tokens.ts";

const url = "https://former.example.net/in";

function createBench(environment: Record<string, string | undefined> = apiEnvironment) {
  const bench = createDialerBench({
    startAt: "2026-11-24T12:00:00Z",
    plan: { agents: { "*": webhook }, results: {} },
  });
  const api = createTestApi({ documents: bench.documents, now: bench.now, environment });
  const ask = async (method: string, path: string, body?: object, token = tokens.operator) => {
    const response = await api.app.request(path, jsonRequest(token, method, body));
    return { status: response.status, body: Object(JSON.parse(await response.text())) };
  };
  const put = (more: object = {}) =>
    ask("PUT", "/operator/clients/desk", { agents: ["*"], ...more });
  return {
    ask,
    bench,
    put,
    putReceiver: (token: string) =>
      ask("PUT", "/v1/receivers/x", { url, echo: ["first_name"] }, token),
    make: async (): Promise<string> =>
      (await ask("POST", "/operator/clients/desk/tokens", { rights: ["events"] })).body.token,
    receivers: async (): Promise<object[]> =>
      (await ask("GET", "/operator/clients/desk/receivers")).body.receivers,
  };
}

describe("a client that was removed", () => {
  it("gets no events of the next client of its name", async () => {
    const { ask, bench, put, putReceiver, make } = createBench();
    await put();
    const former = await make();
    expect((await putReceiver(former)).status).toBe(200);
    expect((await ask("DELETE", "/operator/clients/desk")).status).toBe(200);
    // For a minute, a process may know the token still.
    await putReceiver(former);
    bench.advance(61_000);
    expect((await put({ reuse: true })).body.is_new).toBe(true);
    expect((await ask("GET", "/v1/receivers", undefined, await make())).body.receivers).toEqual([]);
    const call = aCallNow(bench, { context: { first_name: "Ada" } }, { client: "desk" });
    bench.answer = async () => ({ kind: "placed" });
    await bench.send(message(call));
    await bench.simulate(20);
    await bench.deliverEvents();
    expect(bench.posted).toEqual([]);
  });

  it.each([
    ["keeps its receivers while API_TOKENS has a valid token of it", "2027-01-01", 1],
    ["keeps no receivers if its token in API_TOKENS has expired", "2026-01-01", 0],
  ])("%s", async (_, notAfter, kept) => {
    const { sha256 } = createToken();
    const listed = { id: "desk-1", client: "desk", sha256, notAfter };
    const bench = createBench({ ...apiEnvironment, API_TOKENS: JSON.stringify([listed]) });
    await bench.put();
    expect((await bench.putReceiver(await bench.make())).status).toBe(200);
    await bench.ask("DELETE", "/operator/clients/desk");
    expect(await bench.receivers()).toHaveLength(kept);
  });
});
