import { describe, expect, it } from "vitest";
import { handleStoredLetters } from "../../../functions/dialer/consume/handle-stored-letters.ts";
import { createHandlers } from "../../../functions/dialer/handlers.ts";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { isOnDoNotCallList, doNotCallKeysOf } from "../../../shared/policy/controls.ts";
import { createDialerBench } from "../../support/dialer.ts";
import {
  aCallNow,
  type Bench,
  boom,
  hashKey,
  hashOf,
  rowOf,
  sendEach,
} from "../../support/dialer-calls.ts";
import { busy } from "../../support/results-bench.ts";

const number = "+12025550123";

/** Creates a bench with a placed call, whose signed callback tells its end and an opt-out. */
async function createBench(): Promise<{ bench: Bench; row: CallRow; callback: object }> {
  const bench = createDialerBench({ plan: { results: {} } });
  bench.told = async () => ({ kind: "told", result: busy, optedOut: true });
  const call = aCallNow(bench, { phone_number: number });
  await sendEach(bench, call);
  await bench.deliver();
  const row = await rowOf(bench, call);
  const signed = { body: "{}", headers: {}, receivedAt: 1 };
  const of = { id: row.id, claim: row.claims.at(-1) ?? "" };
  return { bench, row, callback: { kind: "callback", account: "webhook", signed, call: of } };
}

/** Hands messages to the consumer of the events' dead-letter queue. */
const settleDeadLetter = (bench: Bench, messages: readonly unknown[], isConfigured = true) =>
  createHandlers({
    ...bench.deps,
    settings: isConfigured ? { value: bench.deps.settings } : { problem: "HASH_KEY is not set" },
  }).deadEvents(
    messages.map((one, index) => ({
      attempt: 1,
      id: `dead-${index}`,
      open: async () => (typeof one === "string" ? one : JSON.stringify(one)),
    })),
  );

async function isListed(bench: Bench): Promise<boolean> {
  const read = await bench.documents.read(doNotCallKeysOf([hashOf(number)]));
  return isOnDoNotCallList([hashOf(number)], read, { current: hashKey });
}

describe("a signed callback that failed each time", () => {
  it("is tried once more: its opt-out stands, and its result", async () => {
    const { bench, row, callback } = await createBench();
    expect(await settleDeadLetter(bench, [callback])).toEqual(["ack"]);
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

  it.each([true, false])(
    "is stored whole with an alarm where it cannot be written (settings are right: %s)",
    async (isConfigured) => {
      const { bench, callback } = await createBench();
      bench.breakLedger({ write: boom });
      expect(await settleDeadLetter(bench, [callback], isConfigured)).toEqual(["ack"]);
      expect([...bench.kept]).toEqual([["events-dead-0", JSON.stringify(callback)]]);
      expect(bench.eventsOf("message.stored")).toMatchObject([{ level: "alarm" }]);
    },
  );

  it("of a call that is still being dialed is stored, and followed by a sweep half an hour later", async () => {
    const { bench, row, callback } = await createBench();
    const dialing = { ...row, state: "DIALING", version: "d" } as const;
    await bench.rows.write([{ next: dialing, seen: row.version }]);
    expect(await settleDeadLetter(bench, [callback])).toEqual(["ack"]);
    await handleStoredLetters(bench.deps, bench.now() + 120_000);
    expect(bench.kept.size).toBe(1);
    await bench.rows.write([{ next: { ...row, version: "p" }, seen: "d" }]);
    bench.advance(30 * 60_000);
    await handleStoredLetters(bench.deps, bench.now() + 120_000);
    expect(bench.kept.size).toBe(0);
    expect(await rowOf(bench, row)).toMatchObject({ optedOut: true });
  });

  it("is kept though no version can read it, and keeps no other waiting", async () => {
    const { bench, row, callback } = await createBench();
    expect(await settleDeadLetter(bench, ["no JSON", callback])).toEqual(["ack", "ack"]);
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
    expect(await settleDeadLetter(bench, hints)).toEqual(["ack", "ack", "ack"]);
    expect(bench.eventsOf("events.dead_lettered")).toMatchObject(
      hints.map(({ kind }) => ({ level: "warning", message_kind: kind })),
    );
    expect(bench.kept.size).toBe(0);
    expect(bench.eventsOf("message.dead_lettered")).toEqual([]);
  });
});
