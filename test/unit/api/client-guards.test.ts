import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import { backlogOf, createFirstRow } from "#shared/calls/call-row.ts";
import { dayMs, hourMs } from "#shared/lib/units.ts";
import { countedIn, dayKeyOf } from "#shared/policy/day-counts.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { createTestApi } from "#test/support/api.ts";
import { aCall } from "#test/support/calls.ts";
import { apiEnvironment, testPlan, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { inSlowTier, perTier } from "#test/support/per-tier.ts";

const noon = Date.parse("2026-06-01T12:00:00Z");
const agent_id = "agent_sales";
type Guards = Record<string, { callsPerDay?: number; waiting?: number }>;

/** Creates an API under these guards, with a clock that the test moves. */
function createGuarded(guards: Guards | undefined, use = (documents: Documents) => documents) {
  const clock = { now: noon };
  const environment = {
    ...apiEnvironment,
    DIAL_PLAN: JSON.stringify({ ...testPlan, ...(guards && { guards }) }),
  };
  const plain = createTestApi({ environment, now: () => clock.now });
  const { queue, events, ledger, documents } = plain;
  const app = createApp({ ...plain.deps, documents: use(documents) });
  const send = queue.send;
  const post = (
    count: number,
    { key, token = tokens.crm }: { key?: string; token?: string } = {},
  ) =>
    app.request(
      "/v1/calls/batch",
      jsonRequest(
        token,
        "POST",
        Array.from({ length: count }, () => ({ phone_number: "+12025550123", agent_id })),
        key === undefined ? {} : { "idempotency-key": key },
      ),
    );
  const statuses = async (...counts: number[]) => {
    const all: number[] = [];
    for (const count of counts) all.push((await post(count)).status);
    return all;
  };
  const counted = async (client = "crm") => {
    const of = { client };
    return countedIn(await documents.read([dayKeyOf(of, clock.now)]), of, clock.now);
  };
  return {
    clock,
    queue,
    events,
    ledger,
    documents,
    post,
    statuses,
    counted,
    breakQueue: () => (queue.send = () => Promise.reject(new Error("down"))),
    repairQueue: () => (queue.send = send),
  };
}

/** Returns the number of counters of a client's day, one of which is each mark. */
async function countersIn(documents: Documents, at: number): Promise<number> {
  const { kind, key } = dayKeyOf({ client: "crm" }, at);
  return Object.keys((await documents.read([{ kind, key }])).get(kind, key)?.value ?? {}).length;
}

describe("callsPerDay of a client", () => {
  it("accepts so many calls in a day, and names the limit to a request above it", async () => {
    const { clock, post, statuses, counted, queue, events } = createGuarded({
      crm: { callsPerDay: 5 },
    });
    expect(await statuses(3, 3, 2, 1)).toEqual([201, 422, 201, 422]);
    expect(await counted()).toBe(5);
    expect(queue.take()).toHaveLength(2);
    const refused = await post(1);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(await refused.json()).toMatchObject({
      status: 422,
      detail: "Nothing was accepted: see errors.",
      errors: [
        {
          pointer: "",
          detail:
            "exceeds the client's callsPerDay of 5, which has 0 left until 2026-06-02T00:00:00.000Z",
        },
      ],
    });
    expect((await post(9, { token: tokens.shop })).status).toBe(201);
    const alarms = events.filter((one) => "level" in one && one.level === "alarm");
    expect(alarms).toEqual([
      { level: "alarm", event: "guard.refused", client: "crm", count: 3, reason: "callsPerDay" },
    ]);
    clock.now = Date.parse("2026-06-02T00:00:00Z");
    expect(await statuses(5, 1)).toEqual([201, 422]);
  });

  it("of * counts each client separately", async () => {
    const { post, statuses } = createGuarded({ "*": { callsPerDay: 2 }, other: { waiting: 1 } });
    expect(await statuses(2, 1)).toEqual([201, 422]);
    expect((await post(2, { token: tokens.shop })).status).toBe(201);
    expect((await post(1, { token: tokens.shop })).status).toBe(422);
  });

  it("does not concern a repeat of an accepted request, and binds no key of a refused one", async () => {
    const { clock, post, counted, queue } = createGuarded({ crm: { callsPerDay: 2 } });
    const first = await post(2, { key: "first" });
    const id = first.headers.get("x-request-id");
    expect((await post(1, { key: "second" })).status).toBe(422);
    const again = await post(2, { key: "first" });
    expect([again.status, again.headers.get("x-request-id")]).toEqual([201, id]);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await counted()).toBe(2);
    expect((await post(1, { key: "first" })).status).toBe(422); // another body
    clock.now += 13 * hourMs;
    expect((await post(2, { key: "first" })).headers.get("x-request-id")).toBe(id);
    expect(await counted()).toBe(0);
    const second = await post(1, { key: "second" });
    expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([201, null]);
    expect(await counted()).toBe(1);
    expect(queue.take()).toHaveLength(4);
  });

  it("gives back calls that the queue does not take, unless their key lets them in again uncounted", async () => {
    const { post, counted, breakQueue, repairQueue } = createGuarded({ crm: { callsPerDay: 5 } });
    breakQueue();
    expect((await post(2)).status).toBe(503);
    expect(await counted()).toBe(0);
    expect((await post(2, { key: "kept" })).status).toBe(503);
    expect(await counted()).toBe(2);
    repairQueue();
    expect((await post(2, { key: "kept" })).status).toBe(201);
    expect(await counted()).toBe(2);
  });

  it("counts once a request that is repeated after a 503 at the binding of its key", async () => {
    let isDown = false;
    const down = () => Promise.reject(new Error("down"));
    const { post, counted } = createGuarded({ crm: { callsPerDay: 5 } }, (documents) => ({
      ...documents,
      write: (changes) => (isDown ? down() : documents.write(changes)),
    }));
    isDown = true;
    for (const _ of [1, 2, 3]) expect((await post(3, { key: "one" })).status).toBe(503);
    isDown = false;
    expect(await counted()).toBe(3);
    for (const _ of [1, 2]) expect((await post(3, { key: "one" })).status).toBe(201);
    expect(await counted()).toBe(3);
    expect((await post(3, { key: "other" })).status).toBe(422);
    expect((await post(2, { key: "third" })).status).toBe(201);
    expect(await counted()).toBe(5);
  });

  it("counts once a request whose count failed, whether or not it was done all the same", async () => {
    const failing: ("before" | "after")[] = [];
    const { post, counted } = createGuarded({ crm: { callsPerDay: 5 } }, (documents) => ({
      ...documents,
      async add(...addition) {
        const fails = failing.shift();
        if (fails === "before") throw new Error("down");
        const counters = await documents.add(...addition);
        if (fails === "after") throw new Error("the answer was lost");
        return counters;
      },
    }));
    failing.push("after");
    for (const status of [503, 201, 201]) {
      expect((await post(3, { key: "one" })).status).toBe(status);
    }
    expect(await counted()).toBe(3);
    failing.push("before", "after");
    for (const status of [503, 503, 201]) {
      expect((await post(2, { key: "two" })).status).toBe(status);
    }
    expect(await counted()).toBe(5);
  });

  it("counts each call once, whatever fails and is repeated", async () => {
    const fails = fc.constantFrom("no", "no", "before", "after");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 }),
        fc.array(fails, { maxLength: 30 }),
        async (requests, failing) => {
          const left = [...failing];
          const failed = <Values extends unknown[], Answer>(
            work: (...values: Values) => Promise<Answer>,
          ) => {
            return async (...values: Values) => {
              const how = left.shift();
              if (how === "before") throw new Error("down");
              const answer = await work(...values);
              if (how === "after") throw new Error("the answer was lost");
              return answer;
            };
          };
          const { post, counted } = createGuarded({ crm: { callsPerDay: 100 } }, (documents) => ({
            ...documents,
            add: failed(documents.add),
            exchange: failed(documents.exchange),
            write: failed(documents.write),
            read: failed(documents.read),
          }));
          for (const [index, count] of requests.entries()) {
            let status = 503;
            while (status === 503) status = (await post(count, { key: `key ${index}` })).status;
            expect(status).toBe(201);
          }
          expect(await counted()).toBe(requests.reduce((sum, count) => sum + count, 0));
        },
      ),
      { numRuns: perTier({ quick: 20, long: 500 }) },
    );
  });

  it("counts once requests of one key that come at the same moment", async () => {
    const { post, counted } = createGuarded({ crm: { callsPerDay: 100 } });
    const answers = await Promise.all([1, 2, 3].map(async () => post(3, { key: "one" })));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await counted()).toBe(3);
  });

  it("remembers few keys, and counts a repeat of each once all the same", inSlowTier, async () => {
    const { clock, documents, post, counted, events } = createGuarded({
      crm: { callsPerDay: 130 },
    });
    for (let key = 0; key < 130; key++) {
      clock.now += 1;
      await post(1, { key: `key ${key}` });
    }
    expect(await countersIn(documents, clock.now)).toBeLessThan(90);
    clock.now += 1;
    for (let again = 0; again < 130; again += 10) {
      expect((await post(1, { key: `key ${again}` })).status).toBe(201);
    }
    expect(await counted()).toBe(130);
    // No repeat is refused for a moment, as its key is looked at first.
    expect(events.filter((one) => "event" in one && one.event === "guard.refused")).toEqual([]);
  });

  it("keeps no mark of a refused request, however many are refused", async () => {
    const { clock, documents, post, counted } = createGuarded({ crm: { callsPerDay: 1 } });
    expect((await post(1, { key: "accepted" })).status).toBe(201);
    for (let key = 0; key < 500; key += 10) {
      const keys = Array.from({ length: 10 }, (_, index) => `key ${key + (index % 8)}`); // some twice
      const answers = await Promise.all(keys.map(async (one) => post(1, { key: one })));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422]));
    }
    expect(await countersIn(documents, clock.now)).toBeLessThan(5);
    expect(await counted()).toBe(1);
  });

  it("forgets marks while other requests are counted all the time", async () => {
    const ticks = async (count: number) => {
      for (let tick = 0; tick < count; tick++) await new Promise(setImmediate);
    };
    let most = 0;
    const { post, counted } = createGuarded({ crm: { callsPerDay: 1_000 } }, (documents) => ({
      ...documents,
      async add(...addition) {
        const counters = await documents.add(...addition);
        most = Math.max(most, Object.keys(counters).length);
        return counters;
      },
      async write(changes) {
        await ticks(10);
        return documents.write(changes);
      },
    }));
    const posts: Promise<Response>[] = [];
    for (let key = 0; key < 300; key++) {
      posts.push(Promise.resolve(post(1, { key: `key ${key}` })));
      await ticks(1);
    }
    const answers = await Promise.all(posts);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(most).toBeLessThan(120);
    expect((await post(1, { key: "key 7" })).headers.get("idempotency-replayed")).toBe("true");
    expect(await counted()).toBe(300);
  });

  it("gives back the calls of a key by one change, so that none of them stay counted", async () => {
    let changes = 0;
    const count = () => {
      if (++changes > 2) throw new Error("down");
    };
    const { post, counted } = createGuarded({ crm: { callsPerDay: 5 } }, (documents) => ({
      ...documents,
      async add(...addition) {
        count();
        return documents.add(...addition);
      },
      async exchange(...exchange) {
        count();
        return documents.exchange(...exchange);
      },
    }));
    expect((await post(6, { key: "one" })).status).toBe(422);
    expect([await counted(), changes]).toEqual([0, 2]);
  });

  it("gives back calls whose key is malformed or was used for another request", async () => {
    const { post, counted } = createGuarded({ crm: { callsPerDay: 5 } });
    expect((await post(2, { key: "a, b" })).status).toBe(422);
    expect((await post(2, { key: "used" })).status).toBe(201);
    expect((await post(1, { key: "used" })).status).toBe(422);
    expect(await counted()).toBe(2);
  });

  it("accepts nothing while it cannot be counted", async () => {
    const { post, queue } = createGuarded({ crm: { callsPerDay: 5 } }, (documents) => ({
      ...documents,
      add: () => Promise.reject(new Error("down")),
    }));
    expect((await post(1)).status).toBe(503);
    expect(queue.take()).toEqual([]);
  });

  it("is never exceeded by many at once, and leaves no count behind", async () => {
    const request = fc.record({ count: fc.integer({ min: 1, max: 4 }), key: fc.nat({ max: 3 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 12 }),
        fc.scheduler(),
        async (requests, callsPerDay, scheduler) => {
          const { post, counted, statuses } = createGuarded(
            { crm: { callsPerDay } },
            (documents) => ({
              ...documents,
              add: scheduler.scheduleFunction(documents.add),
              exchange: scheduler.scheduleFunction(documents.exchange),
              read: scheduler.scheduleFunction(documents.read),
              write: scheduler.scheduleFunction(documents.write),
            }),
          );
          const posted = requests.map(async ({ count, key }) => {
            const answer = await post(count, key === 0 ? {} : { key: `${key} of ${count}` });
            const isReplay = answer.headers.get("idempotency-replayed") === "true";
            return answer.status === 201 && !isReplay ? count : 0;
          });
          await scheduler.waitFor(Promise.all(posted));
          const accepted = (await Promise.all(posted)).reduce((all, count) => all + count, 0);
          expect(accepted).toBeLessThanOrEqual(callsPerDay);
          expect(await counted()).toBe(accepted);
          const ones = Array.from({ length: callsPerDay - accepted }, () => 1);
          const rest = await scheduler.waitFor(statuses(...ones));
          expect(rest).toEqual(ones.map(() => 201));
        },
      ),
      { numRuns: perTier({ quick: 8, long: 300 }) },
    );
  });

  it("counts a repeat that is accepted while the first request is refused", async () => {
    const waiting: (() => void)[] = [];
    const { post, counted } = createGuarded({ crm: { callsPerDay: 1 } }, (documents) => ({
      ...documents,
      async add(...addition) {
        await held();
        return documents.add(...addition);
      },
      async exchange(...exchange) {
        await held();
        return documents.exchange(...exchange);
      },
    }));
    const held = () => new Promise<void>((resolve) => waiting.push(resolve));
    const settle = async () => {
      for (let tick = 0; tick < 5; tick++) await new Promise((resolve) => setImmediate(resolve));
    };
    /** Lets one of the waiting changes happen, and what follows it. */
    const go = async (index: number) => {
      waiting.splice(index, 1)[0]?.();
      await settle();
    };
    const posts: Promise<Response>[] = [];
    for (const [count, more] of [
      [3, {}],
      [1, { key: "one" }],
      [1, { key: "one" }],
    ] as const) {
      posts.push(Promise.resolve(post(count, more)));
      await settle();
    }
    for (const _ of [1, 2]) await go(0); // both are above the limit, as the first one's calls stand
    await go(1); // the first gives its calls back
    await go(0); // and the third finds room
    while (waiting.length > 0) await go(0);
    const statuses = await Promise.all(posts.map(async (one) => (await one).status));
    expect(statuses).toEqual([422, 201, 201]);
    expect(await counted()).toBe(1);
  });

  it("costs nothing where the plan has no guard of the client", async () => {
    const asked: string[] = [];
    const note = (documents: Documents): Documents =>
      new Proxy(documents, {
        get(target, name, receiver) {
          asked.push(String(name));
          const method: unknown = Reflect.get(target, name, receiver);
          return method;
        },
      });
    for (const guards of [undefined, { other: { callsPerDay: 1, waiting: 1 } }]) {
      const { post } = createGuarded(guards, note);
      expect((await post(1)).status).toBe(201);
      expect(asked).toEqual([]);
      expect((await post(1, { key: "one" })).status).toBe(201);
      expect(asked.splice(0)).toEqual(["write"]);
    }
  });
});

describe("waiting of a client", () => {
  /** Puts waiting rows into the ledger, as a dialer does. */
  async function putWaiting(
    { ledger, ...api }: ReturnType<typeof createGuarded>,
    count: number,
    { client = "crm", agent = agent_id } = {},
  ) {
    const rows = Array.from({ length: count }, () => {
      const call = aCall({ client, request: { phone_number: "+12025550123", agent_id: agent } });
      return {
        ...createFirstRow({ call, numberHash: "h", numberTail: "23" }),
        state: "WAITING" as const,
        lane: backlogOf({ client, agentId: agent }),
        dueAt: api.clock.now + 9 * dayMs,
        version: `v${Math.random()}`,
      };
    });
    await ledger.write(rows.map((next) => ({ next, seen: null })));
    const value = {
      client,
      mode: "live" as const,
      agentId: agent,
      usedAt: api.clock.now,
      answers: null,
    };
    const key = backlogOf({ client, agentId: agent });
    const next = { kind: "backlog" as const, key, version: "v", value, expiresAt: null };
    await api.documents.write([{ next, seen: null }]);
    return rows;
  }

  it("refuses calls above it by the rows that wait, of any agent", async () => {
    const api = createGuarded({ crm: { waiting: 10 } });
    await putWaiting(api, 4);
    await putWaiting(api, 3, { agent: "agent_support" });
    await putWaiting(api, 50, { client: "crm2" });
    const refused = await api.post(4);
    expect(refused.status).toBe(422);
    const detail = "exceeds the client's limit of 10 calls waiting, which has 3 left";
    expect(await refused.json()).toMatchObject({ errors: [{ pointer: "", detail }] });
    expect(await api.counted()).toBe(0);
    expect(await api.statuses(2, 1, 1)).toEqual([201, 201, 422]);
  });

  it("refuses calls of a client with calls to more agents than are counted", async () => {
    const api = createGuarded({ crm: { waiting: 5_000 } });
    const backlogs = Array.from({ length: 1_001 }, (_, index) => {
      const of = { client: "crm", agentId: `agent_${index}` };
      const value = { ...of, mode: "live" as const, usedAt: api.clock.now, answers: null };
      const document = { kind: "backlog" as const, key: backlogOf(of), version: "v", value };
      return { next: { ...document, expiresAt: null }, seen: null };
    });
    await api.documents.write(backlogs);
    const refused = await api.post(1);
    expect(refused.status).toBe(422);
    const detail =
      "exceeds the client's limit of 5000 calls waiting, or the client has 1000 backlogs, the most that count";
    expect(await refused.json()).toMatchObject({ errors: [{ pointer: "", detail }] });
    expect(await api.statuses(1)).toEqual([422]);
  });

  it("counts the rows anew once the calls since might exceed it, ten seconds after the last count", async () => {
    const api = createGuarded({ crm: { waiting: 10 } });
    expect(await api.statuses(6, 4, 1)).toEqual([201, 201, 422]); // nothing waits, as all were dialed
    api.clock.now += 9_999;
    expect(await api.statuses(1)).toEqual([422]);
    api.clock.now += 1;
    expect(await api.statuses(10, 1)).toEqual([201, 422]);
    api.clock.now += dayMs;
    await putWaiting(api, 10);
    expect(await api.statuses(1)).toEqual([422]); // the rows are counted anew on another day
  });

  it("keeps no mark of a request that is refused", async () => {
    const api = createGuarded({ crm: { waiting: 10 } });
    await putWaiting(api, 10);
    for (let key = 0; key < 30; key++) {
      expect((await api.post(1, { key: `key ${key}` })).status).toBe(422);
    }
    expect(await countersIn(api.documents, api.clock.now)).toBe(0);
  });

  it("refuses by the count of the last ten seconds, though calls were subtracted since", async () => {
    const gate = Promise.withResolvers<void>();
    const api = createGuarded({ crm: { waiting: 10 } }, (documents) => ({
      ...documents,
      async add(name, counters, expiresAt) {
        if (counters["calls"] === -300) await gate.promise;
        return documents.add(name, counters, expiresAt);
      },
    }));
    await putWaiting(api, 10);
    const slow = api.post(300); // its calls are given back late
    await new Promise(setImmediate);
    api.clock.now += 10_000;
    expect(await api.statuses(1)).toEqual([422]); // counts the rows while the day has the 300 calls
    gate.resolve();
    expect((await slow).status).toBe(422);
    let looks = 0;
    const { due } = api.ledger;
    api.ledger.due = async (query) => {
      looks++;
      return due(query);
    };
    for (const _ of [1, 2]) {
      const answers = await Promise.all(Array.from({ length: 20 }, async () => api.post(1)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422]));
      api.clock.now += 500;
    }
    expect(looks).toBeLessThan(4);
    api.clock.now += 10_000;
    expect(await api.statuses(1)).toEqual([422]);
    expect(looks).toBeGreaterThan(0);
  });

  it("is not exceeded through requests that are refused while others are counted", async () => {
    const gate = Promise.withResolvers<void>();
    let isHeld = true;
    const api = createGuarded({ crm: { waiting: 10 } }, (documents) => ({
      ...documents,
      async add(name, counters, expiresAt) {
        if (isHeld && counters["calls"] === -500) {
          isHeld = false;
          await gate.promise;
        }
        return documents.add(name, counters, expiresAt);
      },
    }));
    expect(await api.statuses(1)).toEqual([201]);
    const slow = api.post(500); // its calls are given back late
    await new Promise(setImmediate);
    api.clock.now += 10_000;
    expect(await api.statuses(600)).toEqual([422]); // counts the rows anew
    gate.resolve();
    expect((await slow).status).toBe(422);
    expect(await api.statuses(10, 10, 10)).toEqual([201, 422, 422]);
  });
});
