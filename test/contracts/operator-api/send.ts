import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { guardedCalls, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import type { OperatorApiBench } from "./setup.ts";

/** Describes the calls that an operator places for a client. */
export function itPlacesCallsForClients(api: OperatorApiBench): void {
  const { ask } = api;
  const calls = [{ phone_number: "+12025550123", agent_id: "agent_sales" }];
  async function post(path: string, key: string, token = tokens.operator, body: unknown = calls) {
    const headers = { "idempotency-key": key, "call-campaign": "spring" };
    const response = await api.request(path, jsonRequest(token, "POST", body, headers));
    const header = (name: string) => response.headers.get(name);
    return {
      status: response.status,
      id: header("x-request-id"),
      replayed: header("idempotency-replayed"),
      text: await response.text(),
    };
  }
  const entriesSince = async (from: string) =>
    (await ask(`/audit?action=send&from=${from}`)).body.entries;

  it("places a client's calls as its own token does, so that a list which both send is one", async () => {
    const from = new Date().toISOString();
    const key = randomUUID();
    const own = "/v1/calls/batch";
    const first = await post("/operator/clients/shop/calls", key);
    expect(first).toMatchObject({ status: 201, text: "", replayed: null });
    const [message] = await api.queued(1);
    expect(message).toMatchObject({
      client: "shop",
      labels: { campaign: "spring" },
      requestId: first.id,
    });
    const again = { status: 201, id: first.id, replayed: "true" };
    expect(await post("/operator/clients/shop/calls", key)).toMatchObject(again);
    expect(await post(own, key, tokens.shop)).toMatchObject(again);
    // Another client's key is another key.
    expect((await post("/operator/clients/crm/calls", key)).replayed).toBeNull();
    expect(await entriesSince(from)).toMatchObject([
      { target: "client crm", count: 1, by: "operator" },
      { target: "client shop", count: 1, by: "operator" },
    ]);
  });

  it("holds the client's agents and guards, and names clients without a token that may call", async () => {
    const support = [{ phone_number: "+12025550123", agent_id: "agent_support" }];
    const to = (name: string, body?: unknown) =>
      post(`/operator/clients/${name}/calls`, randomUUID(), tokens.operator, body);
    expect((await to("salesOnly", support)).status).toBe(422);
    const many = Array.from({ length: guardedCalls + 1 }, () => calls[0]);
    expect((await to("guarded", many)).text).toContain("callsPerDay");
    expect((await to("nobody")).status).toBe(404);
    expect((await to("ended")).status).toBe(404);
    const real = await to("test:crm", [{ ...calls[0], phone_number: "+12125557890" }]);
    expect([real.status, real.text]).toEqual([422, expect.stringContaining("for test calls")]);
    expect((await post("/v1/calls/batch", randomUUID(), tokens.operator)).status).toBe(401);
    const own = await post("/operator/clients/shop/calls", randomUUID(), tokens.shop);
    expect(own.status).toBe(401);
    const senders = await api.request("/operator/senders", jsonRequest(tokens.opsSee));
    const { clients }: { clients: object[] } = JSON.parse(await senders.text());
    expect(clients).toContainEqual({
      client: "salesOnly",
      is_test: false,
      agents: ["agent_sales"],
    });
    expect(clients.at(-1)).toEqual({ client: "test:crm", is_test: true, agents: ["*"] });
    expect(JSON.stringify(clients)).not.toContain("ended");
  });

  it("shares the records of sent files with the client", async () => {
    const digest = randomUUID().replaceAll("-", "").repeat(2);
    const file = { file: digest, campaign: "spring", parts: [{ digest, calls: 3 }] };
    const begun = (await ask("/clients/shop/sent-files", file)).body;
    const found = await api.request(
      "/v1/sent-files/find",
      jsonRequest(tokens.shop, "POST", { file: digest }),
    );
    expect(await found.json()).toEqual({ client: "shop", sent: begun });
    const step = { file: digest, round: 1, index: 0, state: "sent" };
    const sent = (await ask("/clients/shop/sent-files/parts", step)).body;
    expect(sent).toMatchObject({ index: 0, state: "sent" });
    const other = await ask("/clients/crm/sent-files/find", { file: digest });
    expect(other.body).toMatchObject({ client: "crm", sent: null });
  });
}
