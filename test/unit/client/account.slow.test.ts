import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createClient } from "#infra/client/index.ts";
import { createTestApi } from "#test/support/api.ts";
import { clientRoutes } from "#test/support/client-routes.ts";
import { tokens } from "#test/support/environment.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };

/** A client of a new service, whose answers may be lost on their way. */
function openService(token: string, lost: Set<number> = new Set()) {
  const { app } = createTestApi();
  let requests = 0;
  const seen: string[] = [];
  const fetch = async (request: Request) => {
    const { pathname, search } = new URL(request.url);
    seen.push(`${request.method} ${pathname}${search}`);
    const answer = await app.fetch(request);
    if (lost.has(++requests)) throw new Error("lost");
    return answer;
  };
  const options = { baseUrl: "https://calls.example.com", fetch, retry: { delayMs: 1 } };
  return { client: createClient({ ...options, token }), seen, options };
}

describe("a client's own account", () => {
  it("shows its token, its usage and its requests", async () => {
    const { client } = openService(tokens.crmDesk);
    expect(await client.getToken()).toMatchObject({ client: "crm", mode: "real" });
    const usage = await client.getUsage({ groupBy: "campaign" });
    expect(usage.total).toMatchObject({ accepted: 0 });
    const listed = [];
    for await (const request of client.listRequests({ campaign: "spring" })) listed.push(request);
    expect(listed).toEqual([]);
  });

  it("finds the request of a key, of a list too, and adds opt-outs", async () => {
    const { client, options } = openService(tokens.crmDesk);
    const caller = createClient({ ...options, token: tokens.crm });
    const placed = await caller.placeCall(call, { idempotencyKey: "appointment-1" });
    expect(await client.findRequest("appointment-1")).toMatchObject({ id: placed.requestId });
    const list = await caller.placeCalls([call, call], { idempotencyKey: "list-1" });
    expect(await client.findRequest("list-1")).toMatchObject({ id: list.requests[0]?.requestId });
    expect(await client.findRequest("appointment-2")).toBeUndefined();
    const desk = createClient({ ...options, token: tokens.crmOptOut });
    expect(await desk.addOptOuts(["+12025550199"], { reason: "complaint" })).toEqual({
      added: 1,
    });
  });

  it("keeps receivers of events, through lost answers", async () => {
    const { client, seen } = openService(tokens.crmEvents, new Set([4]));
    const { receivers } = client;
    const made = await receivers.put("main", { url: "https://example.com/events" });
    expect(made.secret).toMatch(/^whsec_/);
    expect((await receivers.list()).map(({ name }) => name)).toEqual(["main"]);
    expect((await receivers.test("main")).event_id).toMatch(/^test_/);
    await receivers.delete("main"); // its first answer is lost, and the second is a 404
    expect(seen.filter((one) => one.startsWith("DELETE"))).toHaveLength(2);
    await expect(receivers.delete("main")).rejects.toMatchObject({ type: "refused", status: 404 });
  });

  it("rotates a secret once, though the answer is lost: each rotation ends the secret before the last", async () => {
    const { client, seen } = openService(tokens.crmEvents, new Set([2]));
    await client.receivers.put("main", { url: "https://example.com/events" });
    await expect(client.receivers.rotateSecret("main")).rejects.toMatchObject({
      type: "unavailable",
    });
    expect(seen.filter((one) => one.includes("rotate"))).toHaveLength(1);
    expect((await client.receivers.rotateSecret("main")).secret).toMatch(/^whsec_/);
    const deliveries = [];
    for await (const one of client.receivers.listDeliveries("main")) deliveries.push(one);
    expect(deliveries).toEqual([]);
    const [from, until] = [new Date(Date.now() - 60_000), new Date()];
    await client.receivers.replay("main", { from, until });
  });

  it("begins a file of leads once, and notes its parts, through lost answers", async () => {
    const { client, seen } = openService(tokens.crm, new Set([1, 3, 5, 7]));
    const { sentFiles } = client;
    const [file = "", digest = "", content = ""] = ["file", "part", "body"].map((text) =>
      createHash("sha256").update(text).digest("hex"),
    );
    expect(await sentFiles.find(file)).toBeUndefined();
    const parts = [{ digest, calls: 2 }];
    const begun = await sentFiles.start({ file, campaign: "spring", parts });
    expect(begun).toMatchObject({ round: 1, is_finished: false, parts: [{ state: "planned" }] });
    const step = { file, round: 1, index: 0 };
    const attempt = "monday-1";
    const next = await sentFiles.mark({ ...step, state: "begun", content, attempt });
    expect(next).toMatchObject({
      state: "begun",
      idempotency_key: begun.parts[0]?.idempotency_key,
    });
    const sent = await sentFiles.mark({ ...step, state: "sent" });
    expect(seen).toHaveLength(8); // each of the four came twice
    expect(await sentFiles.find(file)).toMatchObject({ is_finished: true, parts: [sent] });
    await expect(sentFiles.start({ file, campaign: "spring", parts })).rejects.toMatchObject({
      type: "refused",
      status: 409,
    });
  });

  it("has a method for each route that a client has", async () => {
    const { client, seen } = openService(tokens.crm);
    const [id, from, name] = ["0".repeat(26), new Date(0), "main"];
    const file = "0".repeat(64);
    const part = { file, round: 1, index: 0, state: "planned" } as const;
    const drain = async (items: AsyncIterable<unknown>) => {
      for await (const item of items) void item;
    };
    const { receivers, sentFiles } = client;
    const uses: (() => Promise<unknown>)[] = [
      () => client.placeCall(call),
      () => client.placeCalls([call]),
      () => client.getCall(`call_${id}_00000`),
      () => client.getRequest(id),
      () => drain(client.listCalls(id, { state: "PLACED" })),
      () => drain(client.listRequests()),
      () => client.cancelRequest(id),
      () => client.cancelCall(`call_${id}_00000`),
      () => client.getUsage(),
      () => client.getToken(),
      () => client.addOptOuts(["+12025550199"]),
      () => sentFiles.find(file),
      () => sentFiles.start({ file, campaign: "spring", parts: [{ digest: file, calls: 1 }] }),
      () => sentFiles.mark(part),
      () => receivers.list(),
      () => receivers.put(name, { url: "https://example.com/events" }),
      () => receivers.delete(name),
      () => receivers.rotateSecret(name),
      () => receivers.test(name),
      () => receivers.replay(name, { from, until: from }),
      () => drain(receivers.listDeliveries(name)),
    ];
    for (const use of uses) await use().catch(() => undefined); // the token lacks rights for some
    const routes = clientRoutes();
    expect(routes.length).toBeGreaterThan(19);
    const unused = routes.filter(({ pattern }) => !seen.some((one) => pattern.test(one)));
    expect(unused).toEqual([]);
  });
});
