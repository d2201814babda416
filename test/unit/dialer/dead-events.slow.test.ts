import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import { handleStoredLetters } from "#test/support/entries.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { isOnDoNotCallList, doNotCallKeysOf } from "#shared/policy/number-entries.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  hashKey,
  hashOf,
  rowOf,
  sendEach,
} from "#test/support/dialer-calls.ts";
import { busy } from "#test/support/results-bench.ts";

const number = "+12025550123";

/** Creates a bench with a placed call, whose signed callback tells its end and an opt-out. */
async function createBench(): Promise<{ bench: Bench; row: CallRow; callback: object }> {
  const bench = createDialerBench({ plan: { results: {} } });
  bench.told = async () => ({ kind: "reported", result: busy, optedOut: true });
  const call = aCallNow(bench, { phone_number: number });
  await sendEach(bench, call);
  await bench.deliver();
  const row = await rowOf(bench, call);
  const signed = { body: "{}", headers: {}, receivedAt: 1 };
  const of = { id: row.id, claim: row.claims.at(-1) ?? "" };
  return { bench, row, callback: { kind: "callback", account: "webhook", signed, call: of } };
}

/** Has messages of the events queue handled that have failed a hundred times, by a sweep. */
async function settleDeadLetters(bench: Bench, messages: readonly unknown[]): Promise<void> {
  for (const [index, one] of messages.entries()) {
    bench.kept.set(`events-dead-${index}`, typeof one === "string" ? one : JSON.stringify(one));
  }
  await handleStoredLetters(bench.deps, bench.now() + 120_000);
}

async function isListed(bench: Bench): Promise<boolean> {
  const read = await bench.documents.read(doNotCallKeysOf([hashOf(number)]));
  return isOnDoNotCallList({ hashes: [hashOf(number)] }, read, [nameOfKey(hashKey)]);
}

describe("a signed callback that failed each time", () => {
  it("is tried once more: its opt-out stands, and its result", async () => {
    const { bench, row, callback } = await createBench();
    await settleDeadLetters(bench, [callback]);
    expect(bench.kept.size).toBe(0);
    expect(await isListed(bench)).toBe(true);
    expect(await rowOf(bench, row)).toMatchObject({ optedOut: true, result: { status: "busy" } });
    expect(bench.eventsOf("message.dead_lettered")).toMatchObject([
      { level: "alarm", message_kind: "callback", call_id: row.id },
    ]);
    const next = aCallNow(bench, { phone_number: number });
    await sendEach(bench, next);
    await bench.deliver();
    expect(await rowOf(bench, next)).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
  });

  it("stays where it cannot be written", async () => {
    const { bench, callback } = await createBench();
    bench.breakLedger({ write: boom });
    await settleDeadLetters(bench, [callback]);
    expect([...bench.kept]).toEqual([["events-dead-0", JSON.stringify(callback)]]);
  });

  it("of a call that is still being dialed stays, and is followed by a sweep half an hour later", async () => {
    const { bench, row, callback } = await createBench();
    const dialing = { ...row, state: "DIALING", version: "d" } as const;
    await bench.rows.write([{ next: dialing, seen: row.version }]);
    await settleDeadLetters(bench, [callback]);
    expect(bench.kept.size).toBe(1);
    await bench.rows.write([{ next: { ...row, version: "p" }, seen: "d" }]);
    bench.advance(30 * 60_000);
    await handleStoredLetters(bench.deps, bench.now() + 120_000);
    expect(bench.kept.size).toBe(0);
    expect(await rowOf(bench, row)).toMatchObject({ optedOut: true });
  });

  it("is kept though no version can read it, and keeps no other waiting", async () => {
    const { bench, row, callback } = await createBench();
    await settleDeadLetters(bench, ["no JSON", callback]);
    expect(await rowOf(bench, row)).toMatchObject({ optedOut: true });
    expect([...bench.kept.values()]).toEqual(["no JSON"]);
  });
});

describe("a hint that failed each time", () => {
  const hints = [
    { kind: "poll", account: "webhook", sentAt: 0 },
    { kind: "callback", account: "webhook", callId: "call_1" },
    { kind: "deliver", receiver: "*", sentAt: 0 },
  ];

  it("is let go, with a warning", async () => {
    const { bench } = await createBench();
    await settleDeadLetters(bench, hints);
    expect(bench.eventsOf("events.dead_lettered")).toHaveLength(hints.length);
    expect(bench.eventsOf("events.dead_lettered")).toEqual(
      expect.arrayContaining(
        hints.map(({ kind }) => expect.objectContaining({ level: "warning", message_kind: kind })),
      ),
    );
    expect(bench.kept.size).toBe(0);
    expect(bench.eventsOf("message.dead_lettered")).toEqual([]);
  });
});
