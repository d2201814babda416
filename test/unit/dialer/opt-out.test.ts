import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import { describe, expect, it } from "vitest";
import {
  doNotCallKeyOf,
  doNotCallKeysOf,
  isOnDoNotCallList,
} from "#shared/policy/number-entries.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { CallbackReport } from "#shared/providers/provider.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  hashKey,
  hashOf,
  neverCall,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import { removeCurrent } from "#test/support/documents.ts";
import { deliverNow, toldTo, typesOf } from "#test/support/events-bench.ts";
import { busy } from "#test/support/results-bench.ts";

const number = "+12025550123";
const optedOut: CallbackReport = { kind: "reported", result: busy, optedOut: true };

/** Creates a bench whose callbacks tell that the callee asked not to be called again. */
function createBench(plan: object = {}): Bench {
  const bench = createDialerBench({ plan: { results: { waitMinutes: 30 }, ...plan } });
  bench.told = async () => optedOut;
  return bench;
}

async function place(bench: Bench): Promise<CallRow> {
  const call = aCallNow(bench, { phone_number: number });
  await sendEach(bench, call);
  await bench.deliver();
  return rowOf(bench, call);
}

/** Delivers the signed callback about a call. */
async function callBack(bench: Bench, { id, claims }: CallRow) {
  const signed = { body: "{}", headers: {}, receivedAt: 1 };
  const call = { id, claim: claims.at(-1) ?? "" };
  await bench.eventsQueue.send({ kind: "callback", account: "webhook", signed, call });
  return bench.deliverEvents();
}

async function isListed(bench: Bench, key = hashKey): Promise<boolean> {
  const read = await bench.documents.read(doNotCallKeysOf([hashOf(number)]));
  return isOnDoNotCallList({ hashes: [hashOf(number)] }, read, [nameOfKey(key)]);
}

describe("a callee who asks not to be called again", () => {
  it("is on the do-not-call list, and later calls to the number end without being dialed", async () => {
    const bench = createBench();
    const placed = await place(bench);
    expect(await isListed(bench)).toBe(false);
    expect(await callBack(bench, placed)).toEqual(["ack"]);
    expect(await isListed(bench)).toBe(true);
    expect(await rowOf(bench, placed)).toMatchObject({
      optedOut: true,
      result: { status: "busy" },
    });
    const later = aCallNow(bench, { phone_number: number });
    const other = aCallNow(bench, { phone_number: "+12025550124" });
    await sendEach(bench, later, other);
    await bench.deliver();
    expect(await rowOf(bench, later)).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
    expect(await rowOf(bench, other)).toMatchObject({ state: "PLACED" });
  });

  it("is in the journal, so that a restore does not bring the callee back", async () => {
    const bench = createBench();
    const placed = await place(bench);
    await callBack(bench, placed);
    const { journal } = bench.deps;
    const [name = "", ...others] = await journal.list({ limit: 9 });
    expect(others).toEqual([]);
    expect(JSON.parse((await journal.read(name)) ?? "{}")).toMatchObject({
      kind: "list",
      entries: [hashOf(number)],
    });
  });

  it("stays on the list, though an operator's removal from before lands later", async () => {
    const bench = createBench();
    const placed = await place(bench);
    await neverCall(bench, number);
    const key = doNotCallKeyOf(hashOf(number));
    const seen = (await bench.documents.read([key])).get(key.kind, key.key)?.version ?? "";
    expect(await callBack(bench, placed)).toEqual(["ack"]);
    await bench.documents.remove([{ ...key, seen }]);
    expect(await isListed(bench)).toBe(true);
  });

  it("is on the list, though an operator's removal lands between its read and its write", async () => {
    const bench = createBench();
    const placed = await place(bench);
    await neverCall(bench, number);
    const key = doNotCallKeyOf(hashOf(number));
    bench.breakDocuments({
      async write(changes) {
        const isOver = changes.some(({ next, seen }) => next.key === key.key && seen !== null);
        if (isOver) await removeCurrent(bench.documents, key);
        if (isOver) bench.repairLedger();
        return bench.documents.write(changes);
      },
    });
    expect(await callBack(bench, placed)).toEqual(["ack"]);
    expect(await isListed(bench)).toBe(true);
  });

  it("has the list name its key, though another writer changes the list at the same moment", async () => {
    const bench = createBench();
    const placed = await place(bench);
    let conflicts = 1;
    bench.breakDocuments({
      write: async (changes) =>
        changes.some(({ next }) => next.kind === "do-not-call-list") && conflicts-- > 0
          ? [false]
          : bench.documents.write(changes),
    });
    expect(await callBack(bench, placed)).toEqual(["ack"]);
    await expect(isListed(bench, "a0".repeat(32))).rejects.toThrow(/another HASH_KEY/);
  });

  it("is listed only by a callback that verifies", async () => {
    const bench = createBench();
    bench.told = async () => ({ kind: "unverified" });
    await callBack(bench, await place(bench));
    expect(await isListed(bench)).toBe(false);
    expect(bench.eventsOf("call.opted_out")).toEqual([]);
  });

  it("is not called under another HASH_KEY either: a list names its key", async () => {
    const bench = createBench();
    await callBack(bench, await place(bench));
    await expect(isListed(bench, "a0".repeat(32))).rejects.toThrow(/another HASH_KEY/);
  });

  it("joins a list that stands, and leaves the keys that it names", async () => {
    const bench = createBench();
    const placed = await place(bench);
    await neverCall(bench, "+12025550177", "a0".repeat(32));
    await callBack(bench, placed);
    // The list was made under another key: nobody is dialed until an operator has renewed it.
    await expect(isListed(bench)).rejects.toThrow(/another HASH_KEY/);
    expect(await rowOf(bench, placed)).toMatchObject({ optedOut: true });
  });

  it("is reported once, and a repeated callback changes nothing", async () => {
    const bench = createBench(toldTo());
    const placed = await place(bench);
    await callBack(bench, placed);
    await deliverNow(bench);
    expect(typesOf(bench, placed).toSorted()).toEqual([
      "call.ended",
      "call.opt_out",
      "call.placed",
    ]);
    const [row, posts] = [await rowOf(bench, placed), bench.posted.length];
    bench.advance(60_000);
    expect(await callBack(bench, placed)).toEqual(["ack"]);
    await deliverNow(bench);
    expect(await rowOf(bench, placed)).toEqual(row);
    expect(bench.posted).toHaveLength(posts);
    expect(bench.eventsOf("call.opted_out")).toHaveLength(1);
    expect(JSON.stringify(bench.events)).not.toContain(number.slice(1));
  });

  it("is noted though another writer changes the row at the same moment", async () => {
    const bench = createBench();
    const placed = await place(bench);
    let conflicts = 1;
    bench.breakLedger({
      write: async (changes) =>
        conflicts-- > 0 ? changes.map(() => false) : bench.rows.write(changes),
    });
    expect(await callBack(bench, placed)).toEqual(["ack"]);
    expect(await rowOf(bench, placed)).toMatchObject({
      optedOut: true,
      result: { status: "busy" },
    });
  });

  it.each(["documents", "ledger"] as const)(
    "is noted by another delivery if the %s cannot be written",
    async (port) => {
      const bench = createBench();
      const placed = await place(bench);
      if (port === "ledger") bench.breakLedger({ write: boom });
      else bench.breakDocuments({ write: boom });
      expect(await callBack(bench, placed)).not.toEqual(["ack"]);
      expect((await rowOf(bench, placed)).optedOut).toBe(false);
      bench.repairLedger();
      expect(await callBack(bench, placed)).toEqual(["ack"]);
      expect(await rowOf(bench, placed)).toMatchObject({ optedOut: true });
      expect(await isListed(bench)).toBe(true);
    },
  );
});
