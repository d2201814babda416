import { expect, it } from "vitest";
import { type Answer, type OperatorApiBench } from "./setup.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

/** Describes pauses, breakers, and the backlogs that they hold. */
export function itPausesCalls(api: OperatorApiBench): void {
  const { ask, callIn, documentOf, putDocument } = api;

  it("pauses and resumes an agent or an account", async () => {
    const paused = await ask("/pause", { agent_id: "agent_sales" });
    expect(paused.body).toMatchObject({ agent_id: "agent_sales", by: "operator", is_new: true });
    const again = await ask("/pause", { agent_id: "agent_sales" });
    expect(again.body).toEqual({ ...paused.body, is_new: false });
    expect((await ask("/pause", { account: "webhook" })).status).toBe(200);
    for (const what of [{ agent: "agent_sales" }, { account: "webhook" }]) {
      const { kind, key } = pauseKeyOf(what);
      expect(await documentOf(kind, key)).toMatchObject({ expiresAt: null });
    }
    const { body } = await ask("/pauses");
    expect(body).toMatchObject({
      agents: ["agent_sales", "agent_support"],
      other_agents: false,
      accounts: ["webhook"],
    });
    expect(body.pauses).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ agent_id: "agent_sales" }),
        expect.objectContaining({ account: "webhook" }),
      ]),
    );
    for (const what of [{ agent_id: "agent_sales" }, { account: "webhook" }]) {
      const resumed = await ask("/resume", what);
      expect([resumed.status, resumed.body]).toEqual([200, what]);
    }
    const after = (await ask("/pauses")).body;
    expect(after.pauses).toEqual([]);
    const refused = [{ agent_id: "nobody" }, { account: "vapi" }, { agent_id: "*" }];
    const pointers: (string | undefined)[] = [];
    for (const what of refused) {
      pointers.push((await ask("/pause", what)).body.errors[0]?.pointer);
    }
    expect(pointers).toEqual(["/agent_id", "/account", "/agent_id"]);
  });

  it("pauses a client until a time, and says why", async () => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const order = { client: "shop", reason: "wrong script", until };
    const paused = await ask("/pause", order);
    expect([paused.status, paused.body]).toMatchObject([200, { ...order, by: "operator" }]);
    const { kind, key } = pauseKeyOf({ client: "shop" });
    expect(await documentOf(kind, key)).toMatchObject({ expiresAt: Date.parse(until) });
    expect((await ask("/pauses")).body.pauses).toContainEqual(expect.objectContaining(order));
    expect((await ask("/resume", { client: "shop" })).body).toEqual({ client: "shop" });
    // A pause that has ended is read by nobody, and is written anew.
    const ended = { of: { client: "shop" }, at: 1, by: "operator", until: Date.now() - 1 };
    await putDocument(kind, key, ended, ended.until);
    expect(await documentOf(kind, key)).toBeUndefined();
    const again = await ask("/pause", { client: "shop" });
    expect(again.body).toMatchObject({ reason: null, until: null });
    await ask("/resume", { client: "shop" });
  });

  it("lists the open breakers, and closes one", async () => {
    const { agent } = api;
    const key = `backlog:["crm","${agent}"]`;
    const now = Date.now();
    const value = {
      state: "open" as const,
      code: "http_404",
      openedAt: now,
      probeAt: now + 8000,
      intervalMs: 8000,
      cause: "unreachable" as const,
      room: 0,
      blamed: [],
    };
    await putDocument("breaker", key, value);
    await putDocument("breaker", `${key}_closed`, { ...value, state: "closed" });
    await putDocument("counters", `${key} refusals`, { http_404: 20, "in US": 20 });
    const { body } = await ask("/pauses");
    expect(body.breakers).toContainEqual({
      key,
      kind: "backlog",
      name: `crm, ${agent}`,
      client: "crm",
      agent_id: agent,
      cause: "unreachable",
      state: "open",
      failures: { refusals: { http_404: 20 }, countries: { US: 20 } },
      code: "http_404",
      opened_at: new Date(now).toISOString(),
      probe_at: new Date(now + 8000).toISOString(),
    });
    expect(body.breakers.map((one) => one.key)).not.toContain(`${key}_closed`);
    expect((await ask("/resume", { breaker: key })).body).toEqual({ breaker: key });
    expect(await documentOf("breaker", key)).toBeUndefined();
    expect(await documentOf("counters", `${key} refusals`)).toBeUndefined();
    expect((await ask("/pauses")).body.breakers.map((one) => one.key)).not.toContain(key);
    expect((await ask("/resume", { breaker: `${key}_none` })).status).toBe(404);
    expect((await ask("/resume", {})).status).toBe(422);
  });

  it("lists the backlogs, those due first coming first, and what holds them", async () => {
    const { agent } = api;
    const first = await callIn("WAITING", { acceptedAt: Date.now() - 60_000 });
    await callIn("WAITING");
    const { kind, key } = pauseKeyOf({ agent });
    await putDocument(kind, key, { of: { agent }, at: Date.now(), by: "operator" });
    const readMine = async () => {
      const mine: Answer["body"]["backlogs"] = [];
      let cursor: string | undefined;
      do {
        const { body } = await ask(
          `/backlogs?limit=1${cursor === undefined ? "" : `&cursor=${cursor}`}`,
        );
        expect(JSON.stringify(body)).not.toMatch(/2025550123|Zoë/);
        mine.push(...body.backlogs.filter(({ agent_id }) => agent_id === agent));
        cursor = body.cursor;
      } while (cursor !== undefined);
      return mine;
    };
    // Holders of calls are read again after five seconds.
    await expect.poll(readMine, { interval: 1000 }).toMatchObject([
      {
        client: "crm",
        account: null,
        head: { call_id: first.id },
        waiting: 2,
        holders: [{ reason: "route_gone", name: agent, calls: 2 }],
      },
    ]);
    await removeCurrent(api.documents, { kind, key });
  });
}
