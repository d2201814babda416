import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";

const secondRoles = ["see", "decide", "send", "reveal"] as const;
const tokenOf = (role: string) => `oc_configure_${role}`.padEnd(33, "0");
const OPERATOR_TOKENS = JSON.stringify([
  ...JSON.parse(apiEnvironment.OPERATOR_TOKENS),
  ...secondRoles.map((role) => ({
    id: `configure-${role}`,
    sha256: createHash("sha256").update(tokenOf(role)).digest("hex"),
    roles: ["configure", role],
  })),
]);

async function createWithClient() {
  const api = createTestApi({ environment: { ...apiEnvironment, OPERATOR_TOKENS } });
  const ask = async (
    method: string,
    path: string,
    { token, body }: { token: string; body?: object },
  ) => {
    const response = await api.app.request(`/operator${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = JSON.parse(await response.text());
    return { status: response.status, answer };
  };
  const body = { agents: ["agent_sales"], quota: { calls_per_day: 5 } };
  const made = await ask("PUT", "/clients/shop", { token: tokens.opsConfigure, body });
  expect(made.status).toBe(200);
  const entries = async () =>
    (await ask("GET", "/audit", { token: tokens.operator })).answer.entries;
  return { ask, entries };
}

describe("an operator gives nobody more than the operator's own rights", () => {
  it.each([
    ["call", "send"],
    ["cancel", "decide"],
    ["opt_out", "decide"],
    ["read", "see"],
    ["events", "reveal"],
  ])("makes a token with %s for who has configure and %s", async (right, needed) => {
    const { ask } = await createWithClient();
    for (const role of secondRoles) {
      const body = { rights: [right] };
      const made = await ask("POST", "/clients/shop/tokens", { token: tokenOf(role), body });
      // Every role implies `see`.
      const isGiven = needed === "see" || role === needed;
      expect([role, made.status]).toEqual([role, isGiven ? 201 : 403]);
      if (!isGiven) expect(made.answer.detail).toContain(`"${needed}"`);
    }
  });

  it("makes no token for who has configure alone, unless it only reads", async () => {
    const { ask, entries } = await createWithClient();
    const make = (body: object) =>
      ask("POST", "/clients/shop/tokens", { token: tokens.opsConfigure, body });
    for (const body of [{}, { mode: "test" }, { rights: ["read", "opt_out"] }]) {
      expect((await make(body)).status).toBe(403);
    }
    expect((await make({ rights: ["read"] })).status).toBe(201);
    expect(
      (await entries()).filter(({ action }: { action: string }) => action === "make_token"),
    ).toMatchObject([{ exposes: { rights: ["read"], agents: ["*"] } }]);
  });

  it("has contexts repeated to a receiver for who may reveal them", async () => {
    const { ask, entries } = await createWithClient();
    const put = async (token: string, body: object) =>
      (await ask("PUT", "/clients/shop/receiver", { token, body })).status;
    const url = "https://hooks.example.com/in?key=secret";
    expect(await put(tokens.opsConfigure, { url })).toBe(200);
    expect(await put(tokens.opsConfigure, { url, echo: ["name"] })).toBe(403);
    expect(await put(tokenOf("decide"), { url, echo: ["name"] })).toBe(403);
    expect(await put(tokenOf("reveal"), { url, echo: ["name"] })).toBe(200);
    // The receiver has an echo: another URL of it is another reader.
    const elsewhere = "https://elsewhere.example.com/";
    expect(await put(tokens.opsConfigure, { url: elsewhere, echo: ["name"] })).toBe(403);
    // Entries of one millisecond are in no order.
    const own = (await entries()).filter(({ by }: { by: string }) => by === "configure-reveal");
    expect(own).toMatchObject([
      {
        action: "put_client_receiver",
        exposes: { url: "https://hooks.example.com/in?…", echo: ["name"] },
      },
    ]);
  });

  it("widens a client for who decides, and narrows it for who configures", async () => {
    const { ask } = await createWithClient();
    const put = async (token: string, body: object) =>
      (await ask("PUT", "/clients/shop", { token, body })).status;
    const quota = { calls_per_day: 5 };
    for (const wider of [
      { agents: ["*"], quota },
      { agents: ["agent_sales", "agent_support"], quota },
      { agents: ["agent_sales"] },
      { agents: ["agent_sales"], quota: { calls_per_day: 6 } },
    ]) {
      expect(await put(tokens.opsConfigure, wider)).toBe(403);
    }
    const narrower = { agents: ["agent_sales"], quota: { calls_per_day: 4, waiting: 1 } };
    expect(await put(tokens.opsConfigure, narrower)).toBe(200);
    expect(await put(tokenOf("decide"), { agents: ["*"] })).toBe(200);
  });
});
