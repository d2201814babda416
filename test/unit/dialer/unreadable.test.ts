import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { accountBreakerOf } from "#shared/policy/breakers.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { checkBreakerOf } from "#shared/rules/resolved-call.ts";
import { outcomeOf } from "#test/support/claims.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  callsNow,
  due,
  idsDialed,
  message,
  ownAccount,
  putIn,
  rowOf,
  sendEach,
  statesOf,
  webhook,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

// Rows of a later version: one of them must not fail the read of the others, as it would if all were parsed
// at once.

const later = {
  "a type of route": { route: { type: "carrier-pigeon", account: "webhook" } },
  "a type of route, UNKNOWN,": {
    state: "UNKNOWN",
    route: { type: "carrier-pigeon", account: "webhook" },
  },
  "a state": { state: "RINGING" },
  "a field of its request": {
    request: { phone_number: "+12025550123", agent_id: "agent_sales", not_on: "sundays" },
  },
  "a name in `needs`": { needs: ["not-on"] },
};
const kinds = Object.entries(later);

/** Puts a row into the ledger as a later version would have written it. Searches of the ledger find it like any row. */
async function putLater(bench: Bench, call: Call, fields: object) {
  const row = await putIn(bench, "WAITING", call, { dueAt: bench.now() });
  const json = JSON.stringify({ ...row, ...fields });
  bench.stored.set(call.id, { id: call.id, version: "later", json });
  const { lane } = row;
  const dueAt = bench.now();
  bench.breakLedger({
    async due(query) {
      const pages = await bench.rows.due(query);
      return query.lanes.map(({ key, after }, index) => {
        const page = pages[index] ?? [];
        const isBehind = after !== undefined && after.dueAt >= dueAt && after.id >= call.id;
        if (key !== lane || query.until < dueAt || isBehind) return page;
        return [{ id: call.id, dueAt }, ...page].slice(0, query.each);
      });
    },
  });
}

describe.each(kinds)("a row with %s that this version lacks", (_, fields) => {
  it(
    "does not stop a sweep from dialing the other twenty calls of its backlog",
    inSlowTier,
    async () => {
      const bench = createDialerBench();
      const bad = aCallNow(bench);
      const calls = callsNow(bench, 20);
      for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      await putLater(bench, bad, fields);
      await bench.run(300);
      expect(await statesOf(bench, calls)).toEqual(calls.map(() => "PLACED"));
      expect(new Set(idsDialed(bench))).toEqual(new Set(calls.map(({ id }) => id)));
      expect(bench.dialed).toHaveLength(20);
      expect(bench.eventsOf("sweep.failed")).toEqual([]);
    },
  );

  it("stands in the way neither of its own backlog's calls nor of another client's, though one call may go", async () => {
    const bench = createDialerBench({ plan: { providers: { webhook: { callsPerSecond: 0.1 } } } });
    const [own] = callsNow(bench, 1);
    const [other] = callsNow(bench, 1, {}, { client: "z" });
    if (own === undefined || other === undefined) throw new Error("there are two");
    for (const call of [own, other])
      await putIn(bench, "WAITING", call, { dueAt: bench.now() + 1 });
    await putLater(bench, aCallNow(bench), fields);
    await bench.simulate(40);
    expect(await statesOf(bench, [own, other])).toEqual(["PLACED", "PLACED"]);
  });

  it("has no message come again and again while many calls of its backlog go", async () => {
    const bench = createDialerBench();
    bench.ringSeconds = 3;
    const calls = callsNow(bench, 300);
    for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: bench.now() + 1 });
    await putLater(bench, aCallNow(bench), fields);
    await bench.simulate(10);
    expect(bench.dialed).toHaveLength(300);
    expect(bench.queued()).toEqual([]);
  });

  it(
    "is handed back alone, with an alarm, out of a delivery of forty messages",
    inSlowTier,
    async () => {
      const bench = createDialerBench();
      const bad = aCallNow(bench);
      const calls = callsNow(bench, 39);
      await putLater(bench, bad, fields);
      await sendEach(bench, ...calls.slice(0, 20), bad, ...calls.slice(20));
      const answers = await bench.deliver();
      expect(answers.map((answer) => answer === "ack")).toEqual(
        Array.from({ length: 40 }, (__, index) => index !== 20),
      );
      expect(answers[20]).toEqual({ retryAfterSeconds: 5 });
      expect(bench.dialed).toHaveLength(39);
      expect(bench.eventsOf("row.unreadable")).toMatchObject([{ level: "alarm", call_id: bad.id }]);
      expect(bench.stored.get(bad.id)?.version).toBe("later");
    },
  );

  it("is watched with an alarm, and the others that are watched are looked after", async () => {
    const bench = createDialerBench();
    const [bad, lapsed] = [aCallNow(bench), aCallNow(bench)];
    await putIn(bench, "DIALING", lapsed, { at: bench.now() - 600_000 });
    const row = await putIn(bench, "DIALING", bad, { at: bench.now() - 600_000 });
    const json = JSON.stringify({ ...row, ...fields });
    bench.stored.set(bad.id, { id: bad.id, version: "later", json });
    bench.breakLedger({
      due: async (query) => {
        const pages = await bench.rows.due(query);
        if (query.lanes[0]?.key !== "watch") return pages;
        return [[{ id: bad.id, dueAt: 0 }, ...(pages[0] ?? [])]];
      },
    });
    await bench.sweep();
    expect(bench.eventsOf("row.unreadable")).toMatchObject([{ level: "alarm", call_id: bad.id }]);
    expect(await rowOf(bench, lapsed)).toMatchObject({ state: "UNKNOWN", reason: "claim_lapsed" });
    expect(bench.stored.get(bad.id)?.version).toBe("later");
  });

  it(
    "is dialed by the version that can read it, at its message's next attempt",
    inSlowTier,
    async () => {
      const bench = createDialerBench();
      const call = aCallNow(bench);
      const row = await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      const json = JSON.stringify({ ...row, ...fields });
      bench.stored.set(call.id, { id: call.id, version: "later", json });
      await bench.send(message(call), due(call));
      const again = { retryAfterSeconds: 5 };
      expect(await bench.deliver()).toEqual([again, again]);
      // After the deployment, the dialer reads the row.
      bench.stored.set(call.id, { id: call.id, version: "later", json: JSON.stringify(row) });
      await bench.run(120);
      expect(idsDialed(bench)).toEqual([call.id]);
    },
  );
});

describe("an `outcome` of a row that this version cannot read", () => {
  it("comes again, with an alarm, until a version can", async () => {
    const bench = createDialerBench();
    const call = aCallNow(bench);
    const row = await putIn(bench, "DIALING", call);
    const put = (fields: object) =>
      bench.stored.set(call.id, {
        id: call.id,
        version: row.version,
        json: JSON.stringify({ ...row, ...fields }),
      });
    put({ state: "RINGING" });
    await bench.send(outcomeOf(call, row.version, { at: bench.now() }));
    expect(await bench.deliver()).toEqual([{ retryAfterSeconds: 5 }]);
    expect(bench.events.some(({ level }) => level === "alarm")).toBe(true);
    put({});
    await bench.run(61);
    expect(await statesOf(bench, [call])).toEqual(["PLACED"]);
  });
});

describe("a document that only a later version can read", () => {
  const documents: [string, StoredDocument["kind"], string, object][] = [
    ["a backlog's breaker", "breaker", 'backlog:["crm","agent_sales"]', { state: "ajar" }],
    ["a backlog", "backlog", '["crm","agent_sales"]', { answers: "glacial" }],
    ["a pause", "pause", '["agent","agent_sales"]', { of: { line: 1 } }],
    ["a cancellation", "cancellation", '["agent","agent_sales"]', { orders: [{ by: "fax" }] }],
  ];

  it.each(documents)(
    "keeps %s waiting, with one alarm, and no others",
    inSlowTier,
    async (_, kind, key, value) => {
      const bench = createDialerBench();
      const others = callsNow(bench, 5).map((call) => ({
        ...call,
        request: { ...call.request, agent_id: "agent_support" },
      }));
      const own = aCallNow(bench);
      for (const call of [own, ...others]) {
        await putIn(bench, "WAITING", call, { dueAt: bench.now() });
      }
      const name = { kind, key };
      const seen = (await bench.documents.read([name])).get(kind, key)?.version ?? null;
      const next = { ...name, version: "later", value, expiresAt: null };
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value must be a malformed one
      await bench.documents.write([{ next: next as unknown as StoredDocument, seen }]);
      await bench.run(20);
      await bench.sweep();
      // A new call that needs no turn may go past a backlog that only a later version can read.
      const fresh = aCallNow(bench);
      if (kind !== "backlog") {
        await sendEach(bench, fresh);
        expect(await bench.deliver()).toEqual(["ack"]);
        expect((await bench.row(fresh.id))?.state).toBe("WAITING");
      }
      expect(idsDialed(bench).toSorted()).toEqual(others.map(({ id }) => id).toSorted());
      expect(await statesOf(bench, [own])).toEqual(["WAITING"]);
      expect(bench.eventsOf("dispatch.failed")).toEqual([]);
      if (kind !== "pause") expect(bench.eventsOf("document.unreadable").length).toBeGreaterThan(0);

      expect(bench.eventsOf("sweep.failed")).toEqual([]);
      expect(bench.eventsOf("sweep.measured").length).toBeGreaterThan(0);
      if (kind === "cancellation") return; // it is not listed
      const current = (await bench.documents.list(kind, { limit: 9 })).find(
        (one) => one.key === key,
      );
      expect(current?.version).toBe("later");
    },
  );
});

describe("a list of a sweep", () => {
  it.each<[StoredDocument["kind"], string]>([
    ["breaker", "account:twilio"],
    ["request", "00000000000000000000000000"],
    ["erasure", "0".repeat(64)],
    ["receivers", "crm"],
    ["replay", "crm"],
  ])("of %s counts what only a later version can read, with an alarm", async (kind, key) => {
    const bench = createDialerBench({ plan: { events: { "*": { url: "http://127.0.0.1:9/e" } } } });
    const next = { kind, key, version: "later", value: "of a later form", expiresAt: null };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value must be a malformed one
    await bench.documents.write([{ next: next as unknown as StoredDocument, seen: null }]);
    for (let n = 0; n < 3; n++) {
      await bench.sweep();
      bench.advance(60_000);
    }
    expect(bench.eventsOf("document.unreadable")).toContainEqual(
      expect.objectContaining({ level: "alarm", count: 1 }),
    );
    expect(bench.eventsOf("sweep.failed")).toEqual([]);
  });
});

describe("an account's document that only a later version can read", () => {
  it.each<[string, StoredDocument["kind"], string, object]>([
    ["load", "account", ownAccount, { quick: "very" }],
    ["breaker", "breaker", accountBreakerOf(ownAccount), { state: "ajar" }],
  ])("of its %s holds its calls, with an alarm, and no others", async (_, kind, key, value) => {
    const twilio = { provider: "twilio", from: "+12025550100", stream: "wss://example.com/" };
    const agents = { agent_sales: webhook, agent_support: twilio };
    const bench = createDialerBench({ plan: { agents } });
    const own = aCallNow(bench);
    const others = callsNow(bench, 3, { agent_id: "agent_support" });
    for (const call of [own, ...others]) {
      await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    }
    const seen = (await bench.documents.read([{ kind, key }])).get(kind, key)?.version ?? null;
    const next = { kind, key, version: "later", value, expiresAt: null };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value must be a malformed one
    await bench.documents.write([{ next: next as unknown as StoredDocument, seen }]);
    await bench.run(20);
    expect(idsDialed(bench).toSorted()).toEqual(others.map(({ id }) => id).toSorted());
    expect(await statesOf(bench, [own])).toEqual(["WAITING"]);
    expect(bench.eventsOf("dispatch.failed")).toEqual([]);
    expect(bench.eventsOf("document.unreadable")).toContainEqual(
      expect.objectContaining({ level: "alarm", account: "webhook" }),
    );
  });

  it("of a check's breaker holds the calls that it is asked about, and no others", async () => {
    const agents = { agent_sales: { ...webhook, checks: ["crm"] }, agent_support: webhook };
    const checks = { crm: { url: "http://127.0.0.1:9/crm" } };
    const bench = createDialerBench({ plan: { agents, checks } });
    const own = aCallNow(bench);
    const other = aCallNow(bench, { agent_id: "agent_support" });
    for (const call of [own, other]) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const name = { kind: "breaker", key: checkBreakerOf("crm") };
    const next = { ...name, version: "later", value: { state: "ajar" }, expiresAt: null };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value must be a malformed one
    await bench.documents.write([{ next: next as unknown as StoredDocument, seen: null }]);
    await bench.run(20);
    expect(idsDialed(bench)).toEqual([other.id]);
    expect(await statesOf(bench, [own])).toEqual(["WAITING"]);
    expect(bench.eventsOf("dispatch.failed")).toEqual([]);
  });

  it("fails no call that is answered slowly, nor the process", async () => {
    const failures: unknown[] = [];
    const fail = (error: unknown) => failures.push(error);
    process.on("unhandledRejection", fail);
    const bench = createDialerBench();
    const call = aCallNow(bench);
    await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    const name = { kind: "account", key: ownAccount } as const;
    const seen = (await bench.documents.read([name])).get("account", ownAccount)?.version ?? null;
    const next = { ...name, version: "later", value: { quick: "very" }, expiresAt: null };
    await bench.documents.write([{ next, seen }]);
    bench.answer = async () => {
      await bench.sleep(3_000);
      return { kind: "placed" };
    };
    await bench.send(due(call));
    expect(await bench.deliver()).toEqual(["ack"]);
    process.off("unhandledRejection", fail);
    expect(failures).toEqual([]);
    expect(await statesOf(bench, [call])).toEqual(["PLACED"]);
    expect(bench.eventsOf("dialer.failed")).toEqual([]);
    expect(bench.eventsOf("answers.not_recorded").length).toBeGreaterThan(0);
  });
});
