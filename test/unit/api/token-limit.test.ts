import { expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

/** Creates an API whose tokens may send two requests each. */
function createLimited(limit?: (tokenId: string) => Promise<boolean>) {
  const counts = new Map<string, number>();
  const { deps, queue, events } = createTestApi();
  const tokenLimit =
    limit ??
    (async (tokenId: string) => {
      const count = (counts.get(tokenId) ?? 0) + 1;
      counts.set(tokenId, count);
      return count <= 2;
    });
  const app = createApp({ ...deps, tokenLimit });
  const post = (token: string, path = "/v1/calls") =>
    app.request(
      path,
      jsonRequest(token, "POST", { phone_number: "+12025550123", agent_id: "agent_sales" }),
    );
  return { app, post, queue, events, counts };
}

it("answers 503 above a token's limit, accepts nothing, and lets other tokens in", async () => {
  const { post, queue, events } = createLimited();
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await post(tokens.crm)).status);
  expect(statuses).toEqual([201, 201, 503]);
  const refused = await post(tokens.crm);
  expect(refused.headers.get("retry-after")).toBe("10");
  expect(refused.headers.get("content-type")).toBe("application/problem+json");
  expect(await refused.json()).toMatchObject({
    status: 503,
    detail: expect.stringMatching(/Nothing was accepted/),
  });
  expect(queue.take()).toHaveLength(2);
  expect(events).toContainEqual(expect.objectContaining({ event: "token.limited" }));
});

it("counts no request without a valid token, and looks at no body above the limit", async () => {
  const { app, post, counts } = createLimited(async () => false);
  expect((await post("oc_unknown")).status).toBe(401);
  expect(counts.size).toBe(0);
  const broken = await app.request("/v1/calls", {
    method: "POST",
    headers: { authorization: `Bearer ${tokens.crm}` },
    body: "{",
  });
  expect(broken.status).toBe(503);
});

it("lets requests in where the limit cannot be asked", async () => {
  const { post } = createLimited(() => Promise.reject(new Error("no answer")));
  expect((await post(tokens.crm)).status).toBe(201);
});

it("limits what a token reads too, apart from what it posts, and never what stops calls", async () => {
  const { app, post } = createLimited();
  const statuses = [];
  for (const path of ["/v1/requests", "/v1/usage", "/v1/requests"])
    statuses.push((await app.request(path, jsonRequest(tokens.shopDesk))).status);
  expect(statuses).toEqual([200, 200, 503]);
  expect((await post(tokens.shopDesk)).status).toBe(201);
  const cancel = jsonRequest(tokens.shopDesk, "POST", {});
  for (let n = 0; n < 3; n++) {
    const { status } = await app.request(`/v1/requests/${"0".repeat(26)}/cancel`, cancel);
    expect(status).toBe(404);
  }
});
