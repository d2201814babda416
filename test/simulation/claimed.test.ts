import { routeFrom } from "../support/plans.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { randomId } from "#shared/lib/random.ts";
import { outcomeOf } from "../support/claims.ts";
import { aRowIn, changed } from "../support/call-rows.ts";
import { agents, benchOf, hostAccount, placed, post, waitingRows } from "./rules-bench.ts";

/** Rules about the checks under a claim, which random scenarios break too seldom. */

const number = "+12025550042";
const { numberHash } = hashNumber(number, "5f".repeat(32));
type Bench = ReturnType<typeof benchOf>;
type Entry = { call: string; claim: string; at: number };
const capKey = { kind: "cap", key: numberHash } as const;
const entriesOf = async (bench: Bench): Promise<Entry[]> =>
  (await bench.documents.read([capKey])).get("cap", numberHash)?.value.entries ?? [];
async function count(bench: Bench, entry: Entry) {
  const current = (await bench.documents.read([capKey])).get("cap", numberHash);
  const value = { entries: [...(current?.value.entries ?? []), entry] };
  const next = { ...capKey, version: randomId(), value, expiresAt: null };
  await bench.documents.write([{ next, seen: current?.version ?? null }]);
}
const idempotent = { ...agents.agent_sales, idempotent: true };
const capped = { maxCalls: { count: 1, days: 1 }, agents: { ...agents, again: idempotent } };

describe("a number's cap", () => {
  it("holds for a resend that was never counted, and not for one that was", async () => {
    const bench = benchOf({ plan: capped });
    const request = { phone_number: number, agent_id: "again" };
    const row = aRowIn("UNKNOWN", {
      request,
      agentId: "again",
      numberHash,
      claims: ["first"],
      attempt: 1,
      claimedAt: bench.now() - 60_000,
      unknownSince: bench.now() - 60_000,
      dueAt: bench.now(),
      acceptedAt: bench.now() - 60_000,
      route: routeFrom("webhook", idempotent),
    });
    await bench.rows.write([{ next: row, seen: null }]);
    await count(bench, { call: "another", claim: "other", at: bench.now() - 3_600_000 });
    await bench.send({ kind: "dispatch", rows: [{ id: row.id, account: hostAccount }] });
    await bench.deliver();
    expect(bench.dialed).toHaveLength(0);
    await count(bench, { call: row.id, claim: "first", at: bench.now() - 60_000 });
    bench.advance(60_000);
    await bench.send({ kind: "dispatch", rows: [{ id: row.id, account: hostAccount }] });
    await bench.deliver();
    expect(bench.dialed).toHaveLength(1);
  });

  it("keeps the entry of a later claim from a holder who stood still", async () => {
    const bench = benchOf({ plan: { maxCalls: { count: 2, days: 1 } } });
    const [id = ""] = await post(bench, 1, { number });
    let isFirst = true;
    bench.breakDocuments({
      read: async (keys) => {
        if (isFirst && keys[0]?.kind === "cap") {
          isFirst = false;
          await bench.sleep(4_000);
          await count(bench, { call: id, claim: "later", at: bench.now() });
          await bench.sleep(500);
        }
        return bench.documents.read(keys);
      },
    });
    await bench.deliver();
    expect(await entriesOf(bench)).toMatchObject([{ call: id, claim: "later" }]);
    expect(bench.dialed).toHaveLength(0);
  });

  it("forgets a call that surely was not placed, and no other", async () => {
    const bench = benchOf({ plan: { maxCalls: { count: 2, days: 1 } } });
    const [id = ""] = await post(bench, 1, { number });
    await bench.deliver();
    bench.answer = async () => ({
      kind: "not_placed",
      code: "rate_limited",
      retryAfterSeconds: 600,
    });
    await post(bench, 1, { number });
    await bench.deliver();
    expect(bench.dialed).toHaveLength(2);
    expect((await entriesOf(bench)).map(({ call }) => call)).toEqual([id]);
  });
});

describe("a permit", () => {
  it("is used once, at its moment or at most 50 ms after it", async () => {
    const plan = { providers: { webhook: { callsPerSecond: 5 } } };
    const bench = benchOf({ plan, concurrency: 10 });
    await post(bench, 10);
    await bench.deliver();
    const permitTimes: number[] = [];
    let asked = 0;
    bench.breakDocuments({
      takePermits: async (document, pace, request) => {
        const granted = await bench.documents.takePermits(document, pace, request);
        if (document.kind !== "pace") return granted;
        permitTimes.push(...granted.times);
        asked += 1;
        if (asked === 1) await bench.sleep(3_000);
        return granted;
      },
    });
    const before = bench.dialed.length;
    bench.advance(60_000);
    await post(bench, 10);
    await bench.simulate(120);
    const at = bench.dialed.slice(before).map((one) => one.at);
    expect(at.length).toBeGreaterThan(9);
    const left = [...permitTimes];
    for (const one of at) {
      const index = left.findIndex((permitAt) => one >= permitAt && one <= permitAt + 50);
      expect(index).toBeGreaterThanOrEqual(0);
      left.splice(index, 1);
    }
  });
});

describe("a settlement", () => {
  it("that was written is reported as written, though the ledger denies it", async () => {
    const bench = benchOf();
    await post(bench, 1);
    bench.breakLedger({
      write: async (changes) => {
        const written = await bench.rows.write(changes);
        return changes[0]?.next.state === "PLACED" ? written.map(() => false) : written;
      },
    });
    await bench.deliver();
    expect(bench.eventsOf("call.placed")).toHaveLength(1);
    expect(bench.eventsOf("call.settlement_refused")).toHaveLength(0);
  });

  it("of a row that only a later version can read comes again", async () => {
    const bench = benchOf();
    const row = aRowIn("DIALING", { claims: ["mine"] });
    const json = JSON.stringify({ ...row, state: "RINGING" });
    bench.stored.set(row.id, { id: row.id, version: row.version, json });
    await bench.send(outcomeOf(row, "mine"));
    const [answer] = await bench.deliver();
    expect(answer).not.toBe("ack");
  });

  it("PLACED of a redialed call is written, with an alarm", async () => {
    const bench = benchOf();
    const [id = ""] = await post(bench, 1);
    bench.answer = async () => {
      const row = await bench.row(id);
      if (row === undefined) throw new Error("no row");
      const next: CallRow = changed(row, { state: "REDIALED", lane: null, dueAt: null });
      await bench.rows.write([{ next, seen: row.version }]);
      return placed;
    };
    await bench.deliver();
    expect((await bench.row(id))?.state).toBe("PLACED");
    expect(bench.eventsOf("call.placed_late")).toHaveLength(1);
  });

  it("keeps what a later version wrote of a row", async () => {
    const bench = benchOf();
    const [id = ""] = await waitingRows(bench, 1);
    const stored = bench.stored.get(id);
    if (stored === undefined) throw new Error("no row");
    const json = stored.json.replace("{", '{"ringsLeft":3,');
    bench.stored.set(id, { ...stored, json });
    await bench.send({ kind: "dispatch", rows: [{ id, account: hostAccount }] });
    await bench.deliver();
    expect((await bench.row(id))?.state).toBe("PLACED");
    expect(bench.stored.get(id)?.json).toContain("ringsLeft");
  });
});
