import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import type { UncheckedApiDeps } from "#functions/api/http/context.ts";
import { isTokenValid, type StoredClient, type StoredToken } from "#shared/policy/stored-tokens.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { createTokenMaker } from "#shared/settings/made-token.ts";
import { parseKeys } from "#shared/lib/rotated-keys.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const minuteMs = 60_000;
const startAt = Date.UTC(2026, 10, 24, 12);
const former = "7e".repeat(32);

/** Creates the API with a client and a token that operators made, and counts its reads. */
async function createBench(environment: Record<string, string | undefined> = apiEnvironment) {
  let now = startAt;
  const clock = () => now;
  const documents = createMemoryDocuments(clock, () => randomVersion());
  const reads: string[] = [];
  const epochs = { current: 0, reads: 0, fails: false };
  const state = { fails: false, hold: undefined as Promise<void> | undefined };
  const counted: Documents = {
    ...documents,
    async read(keys) {
      reads.push(keys.map(({ kind }) => kind).join());
      await state.hold;
      if (state.fails) throw new Error("the ledger is down");
      return documents.read(keys);
    },
  };
  const epochStore: UncheckedApiDeps["epochStore"] = {
    async read() {
      epochs.reads += 1;
      if (epochs.fails) throw new Error("the object store is down");
      return epochs.current;
    },
  };
  const api = createTestApi({ environment, documents: counted, epochStore, now: clock });
  const maker = createTokenMaker({
    hashKeys: parseKeys(environment["HASH_KEY"] ?? "", "HASH_KEY"),
  });
  const made = maker.make();
  const client: StoredClient = {
    agents: ["*"],
    quota: null,
    generation: "first",
    createdAt: startAt,
    changedAt: startAt,
    by: "operator",
    isRemoved: false,
  };
  const token: StoredToken = {
    client: "store",
    generation: "first",
    sha256: made.sha256,
    keyName: made.keyName,
    agents: ["*"],
    rights: ["call"],
    isTest: false,
    notAfter: null,
    createdAt: startAt,
    by: "operator",
    endedAt: null,
    endedBy: null,
    usedAt: startAt,
  };
  async function put(value: Partial<StoredToken>, of: Partial<StoredClient> = {}) {
    for (const [kind, key, one] of [
      ["client", "store", { ...client, ...of }],
      ["token", made.id, { ...token, ...value }],
    ] as const) {
      const seen = (await documents.read([{ kind, key }])).get(kind, key)?.version ?? null;
      const next = { kind, key, version: randomVersion(), value: one, expiresAt: null };
      expect(await documents.write([{ next, seen }])).toEqual([true]);
    }
  }
  await put({});
  const place = async (sent = made.token, app = api.app) => {
    const { status } = await app.request(
      "/v1/calls",
      jsonRequest(sent, "POST", { phone_number: "+12025550123", agent_id: "agent_sales" }),
    );
    return status;
  };
  return {
    ...api,
    made,
    put,
    place,
    reads,
    epochs,
    state,
    documents,
    pass: (ms: number) => (now += ms),
    tokenOf: async () =>
      (await documents.read([{ kind: "token", key: made.id }])).get("token", made.id)?.value,
  };
}

describe("a token that operators made", () => {
  it("places calls without the parts that a start does not evaluate, as one of API_TOKENS does", async () => {
    const { place, deps } = await createBench();
    const fail = () => Promise.reject(new Error("was loaded"));
    const app = createApp({ ...deps, parts: { operator: fail, requests: fail } });
    const statuses = [await place(undefined, app), await place(tokens.crm, app)];
    expect(statuses).toEqual([201, 201]);
    expect((await app.request("/v1/requests")).status).toBe(500); // needs one of them
  });

  it("places calls, and is read once a minute", async () => {
    const { place, reads, pass, queue } = await createBench();
    expect(await place()).toBe(201);
    expect(reads).toEqual(["token,sweep,restore", "client"]);
    pass(minuteMs - 1);
    expect(await place()).toBe(201);
    expect(reads).toHaveLength(2);
    pass(1);
    expect(await place()).toBe(201);
    expect(reads).toHaveLength(4);
    expect(queue.take()).toHaveLength(3);
  });

  it("is read once, however many requests come at once", async () => {
    const { place, reads, state, epochs } = await createBench();
    const { promise, resolve } = Promise.withResolvers<void>();
    state.hold = promise;
    const placed = Array.from({ length: 50 }, () => place());
    setTimeout(resolve, 10);
    expect(new Set(await Promise.all(placed))).toEqual(new Set([201]));
    expect(reads).toHaveLength(2);
    expect(epochs.reads).toBe(1);
  });

  it("costs no read if it is forged", async () => {
    const { place, reads, epochs, made, queue } = await createBench();
    const other = createTokenMaker({ hashKeys: { current: former } }).make().token;
    const forged = [
      other,
      `${made.token.slice(0, -1)}${made.token.endsWith("A") ? "B" : "A"}`,
      made.token.replace(made.id, `${made.id.slice(1)}x`),
      made.token.slice(0, -1),
      `${made.token}A`,
      "oc1_",
    ];
    for (const one of forged) expect([one, await place(one)]).toEqual([one, 401]);
    expect([reads, epochs.reads, queue.take()]).toEqual([[], 0, []]);
  });

  it("is answered 401 if the ledger never had it, with one read a minute", async () => {
    const { place, reads } = await createBench();
    const { token } = createTokenMaker({
      hashKeys: parseKeys(apiEnvironment.HASH_KEY, "HASH_KEY"),
    }).make();
    expect([await place(token), await place(token)]).toEqual([401, 401]);
    expect(reads).toEqual(["token,sweep,restore"]);
  });

  it("is answered 401 within a minute of its end, of its client's removal, and after its last time", async () => {
    const changes: [Partial<StoredToken>, Partial<StoredClient>][] = [
      [{ endedAt: startAt }, {}],
      [{}, { isRemoved: true }],
      [{}, { generation: "second" }],
      [{ sha256: createHash("sha256").update("other").digest("hex") }, {}],
    ];
    for (const [value, client] of changes) {
      const { place, put, pass } = await createBench();
      expect(await place()).toBe(201);
      await put(value, client);
      pass(minuteMs);
      expect([value, await place()]).toEqual([value, 401]);
    }
    const { place, put, pass } = await createBench();
    await put({ notAfter: startAt + 10 });
    expect(await place()).toBe(201);
    pass(10);
    expect(await place()).toBe(401);
  });

  it("is answered 503, never 401, where the ledger does not answer", async () => {
    const { place, state, reads, pass, queue, events } = await createBench();
    state.fails = true;
    expect(await place()).toBe(503);
    expect(await place()).toBe(503);
    // A failure is kept for a second.
    expect(reads).toHaveLength(1);
    expect(queue.take()).toEqual([]);
    expect(events).toContainEqual(
      expect.objectContaining({ level: "alarm", event: "token.unchecked" }),
    );
    pass(1_000);
    state.fails = false;
    expect(await place()).toBe(201);
    state.fails = true;
    pass(minuteMs - 1);
    expect(await place()).toBe(201);
    pass(1);
    expect(await place()).toBe(503);
    // Tokens of API_TOKENS and forged ones need no ledger.
    expect([await place(tokens.crm), await place("oc1_forged")]).toEqual([201, 401]);
  });

  it("is answered 503 while the ledger counts as restored, or nobody could tell", async () => {
    const { place, epochs, pass } = await createBench();
    epochs.fails = true;
    expect(await place()).toBe(503);
    Object.assign(epochs, { current: 7, fails: false });
    pass(1_000);
    // The ledger's epoch is 0.
    expect(await place()).toBe(503);
  });

  it("stays valid while the object store is down for less than five minutes", async () => {
    const { place, epochs, pass } = await createBench();
    expect(await place()).toBe(201);
    epochs.fails = true;
    pass(5 * minuteMs);
    expect(await place()).toBe(201);
    pass(minuteMs);
    expect(await place()).toBe(503);
  });

  it("has only the agents that its client has too", async () => {
    const { place, put } = await createBench();
    await put({ agents: ["agent_sales"] }, { agents: ["agent_support"] });
    expect(await place()).toBe(422);
  });

  it("belongs to the client's tests if it is one", async () => {
    const { place, put, queue } = await createBench();
    await put({ isTest: true });
    expect(await place()).toBe(201);
    const [message] = await Promise.all(queue.take().map((one) => one.open()));
    expect(JSON.parse(message ?? "")).toMatchObject({ client: "test:store" });
  });

  it("keeps to its client's quota", async () => {
    const { place, put } = await createBench();
    await put({}, { quota: { callsPerDay: 2 } });
    expect([await place(), await place(), await place()]).toEqual([201, 201, 422]);
  });

  it("is noted as used, at most once an hour", async () => {
    const { place, tokenOf, pass } = await createBench();
    const used = async () => ((await tokenOf())?.usedAt ?? 0) - startAt;
    expect([await place(), await used()]).toEqual([201, 0]);
    pass(60 * minuteMs - 1);
    expect([await place(), await used()]).toEqual([201, 0]);
    pass(minuteMs);
    expect(await place()).toBe(201);
    await expect.poll(used).toBe(61 * minuteMs - 1);
  });

  it("is good under the former HASH_KEY too, and forged without it", async () => {
    const HASH_KEY = `${apiEnvironment.HASH_KEY} ${former}`;
    const made = createTokenMaker({ hashKeys: { current: former } }).make();
    for (const [environment, status] of [
      [{ ...apiEnvironment, HASH_KEY }, 201],
      [apiEnvironment, 401],
    ] as const) {
      const { place, put, documents, made: other } = await createBench(environment);
      const { sha256, keyName } = made;
      await put({ sha256, keyName });
      const stored = (await documents.read([{ kind: "token", key: other.id }])).get(
        "token",
        other.id,
      );
      if (stored === undefined) throw new Error("it is not there");
      const next = { ...stored, key: made.id };
      expect(await documents.write([{ next, seen: null }])).toEqual([true]);
      expect(await place(made.token)).toBe(status);
    }
  });

  it("counts among the tokens of its client, whose calls may be forecast", async () => {
    const { app, put } = await createBench();
    const forecast = async (client: string) => {
      const calls = [{ phone_number: "+12025550123", agent_id: "agent_sales" }];
      const request = jsonRequest(tokens.operator, "POST", { client, calls });
      return (await app.request("/operator/forecast", request)).status;
    };
    const both = async () => [await forecast("store"), await forecast("test:store")];
    expect(await both()).toEqual([200, 422]);
    await put({ isTest: true });
    expect(await both()).toEqual([422, 200]);
    await put({}, { isRemoved: true });
    expect(await both()).toEqual([422, 422]);
  });

  it("is not known where there are no operators, or API_TOKENS has its id", async () => {
    const { OPERATOR_TOKENS: _, ...without } = apiEnvironment;
    expect(await (await createBench(without)).place()).toBe(401);
    const bench = await createBench();
    const { id } = bench.made;
    const app = createApp({ ...bench.deps, listedTokens: new Set([id]) });
    const headers = { authorization: `Bearer ${bench.made.token}` };
    expect((await app.request("/v1/calls", { method: "POST", headers })).status).toBe(401);
  });

  it("lets no operator place its client's calls once API_TOKENS has its id", async () => {
    const bench = await createBench();
    const statusWith = async (listedTokens: ReadonlySet<string> | undefined) => {
      const app = createApp({ ...bench.deps, listedTokens });
      const calls = [{ phone_number: "+12025550123", agent_id: "agent_sales" }];
      const request = jsonRequest(tokens.operator, "POST", calls);
      return (await app.request("/operator/clients/store/calls", request)).status;
    };
    expect(await statusWith(new Set())).toBe(201);
    expect(await statusWith(new Set([bench.made.id]))).toBe(404);
    expect(await statusWith(undefined)).toBe(503);
  });

  it("leaves the receivers of a client that API_TOKENS may have, while that cannot be read", async () => {
    const bench = await createBench({ ...apiEnvironment, API_TOKENS: "[{" });
    const names = ["store", "listed"];
    const ask = async (method: string, name: string, body?: object) => {
      const request = jsonRequest(tokens.operator, method, body);
      return (await bench.app.request(`/operator/clients/${name}`, request)).status;
    };
    const next = {
      secretGeneration: startAt,
      createdAt: startAt,
      url: "https://example.com/events",
      echo: [],
      requestsPerSecond: 20,
    };
    for (const key of names) {
      const value = { receivers: { main: next } };
      const document = { kind: "receivers", key, version: "1", value, expiresAt: null } as const;
      expect(await bench.documents.write([{ next: document, seen: null }])).toEqual([true]);
    }
    expect(await ask("PUT", "listed", { agents: ["*"] })).toBe(503);
    expect(await ask("DELETE", "store")).toBe(503);
    const read = await bench.documents.read(names.map((key) => ({ kind: "receivers", key })));
    for (const key of names)
      expect(Object.keys(read.get("receivers", key)?.value.receivers ?? {})).toEqual(["main"]);
    const clients = await bench.documents.read(names.map((key) => ({ kind: "client", key })));
    expect(clients.get("client", "listed")).toBeUndefined();
    // No right outlasts its removal because of that.
    expect(clients.get("client", "store")?.value.isRemoved).toBe(true);
  });

  it.each<[name: string, token: Partial<StoredToken>, client: Partial<StoredClient>]>([
    ["its own end", { endedAt: startAt }, {}],
    ["its client's removal", {}, { isRemoved: true }],
    ["its client's return", {}, { generation: "second" }],
  ])("makes and changes no receiver that outlives it, right after %s", async (_name, token, of) => {
    const bench = await createBench();
    const rights = ["events"];
    await bench.put({ rights });
    const ask = async (method: string, path: string, body?: object) =>
      (await bench.app.request(`/v1/receivers${path}`, jsonRequest(bench.made.token, method, body)))
        .status;
    const body = { url: "https://example.com/events" };
    expect(await ask("PUT", "/main", body)).toBe(200);
    await bench.put({ rights, ...token }, of);
    expect(await ask("GET", "")).toBe(200); // it is known for a minute more
    expect(await ask("PUT", "/other", body)).toBe(401);
    expect(await ask("POST", "/main/rotate-secret", {})).toBe(401);
    expect(await ask("DELETE", "/main")).toBe(401);
    const read = await bench.documents.read([{ kind: "receivers", key: "store" }]);
    const { receivers = {} } = read.get("receivers", "store")?.value ?? {};
    expect(Object.keys(receivers)).toEqual(["main"]);
    expect(receivers["main"]?.rotatedAt).toBeUndefined();
  });

  it.each<[name: string, changed: Partial<StoredClient>, status: number]>([
    ["brings no client back that is removed", { isRemoved: true }, 409],
    ["widens no client that gets fewer agents", { agents: ["agent_sales"] }, 403],
  ])("%s by a change at the same moment", async (_name, changed, status) => {
    const bench = await createBench();
    const entries = JSON.parse(apiEnvironment.OPERATOR_TOKENS).map((one: { id: string }) =>
      one.id === "operator" ? { ...one, roles: ["configure"] } : one,
    );
    const environment = { ...apiEnvironment, OPERATOR_TOKENS: JSON.stringify(entries) };
    const { documents } = bench;
    const write: Documents["write"] = async (changes) => {
      if (changes[0]?.next.kind === "audit") await bench.put({}, changed);
      return documents.write(changes);
    };
    const { app } = createTestApi({
      environment,
      documents: { ...documents, write },
      now: () => startAt,
    });
    const request = jsonRequest(tokens.operator, "PUT", { agents: ["*"] });
    expect((await app.request("/operator/clients/store", request)).status).toBe(status);
    const read = await documents.read([{ kind: "client", key: "store" }]);
    expect(read.get("client", "store")?.value).toMatchObject(changed);
  });

  it("does not keep its client from being paused, however many others there are", async () => {
    const bench = await createBench();
    const { documents } = bench;
    const list: Documents["list"] = async (kind, query) => {
      if (kind !== "token") return documents.list(kind, query);
      const listed = await documents.list(kind, { limit: 1 });
      return Array.from({ length: query.limit }, () => listed).flat(); // each page is full
    };
    const app = createApp({ ...bench.deps, documents: { ...documents, list } });
    const pause = async (client: string) => {
      const request = jsonRequest(tokens.operator, "POST", { client });
      return (await app.request("/operator/pause", request)).status;
    };
    for (const client of ["store", "test:store", "crm", "test:crm"])
      expect([client, await pause(client)]).toEqual([client, 200]);
    for (const client of ["stor", "ended", "test:stor"])
      expect([client, await pause(client)]).toEqual([client, 422]);
    await bench.put({}, { isRemoved: true });
    expect(await pause("store")).toBe(422);
  });

  it("is not judged where the token or its client needs what only a later version knows", async () => {
    const later = { needs: ["only-from"] };
    for (const [token, client] of [
      [later, {}],
      [{}, later],
    ]) {
      const bench = await createBench();
      await bench.put({ ...token }, { ...client });
      expect(await bench.place()).toBe(503);
      expect(bench.queue.take()).toEqual([]);
    }
  });

  it("needs no token in API_TOKENS, and one that can be read", async () => {
    for (const [API_TOKENS, status, alarms] of [
      [undefined, 201, 1],
      ["[]", 201, 0],
      ["[{", 503, 2],
    ] as const) {
      const { place, events } = await createBench({ ...apiEnvironment, API_TOKENS });
      expect([API_TOKENS, await place()]).toEqual([API_TOKENS, status]);
      const raised = events.filter((one) => Object(one).level === "alarm");
      expect([API_TOKENS, raised.length]).toEqual([API_TOKENS, alarms]);
    }
    const wrong = { ...apiEnvironment, DIAL_PLAN: "{" };
    expect(await (await createBench(wrong)).place()).toBe(503);
  });
});

describe("isTokenValid", () => {
  it("needs a client", async () => {
    const value = await (await createBench()).tokenOf();
    if (value === undefined) throw new Error("it is not there");
    expect(isTokenValid(value, undefined, startAt)).toBe(false);
  });
});
