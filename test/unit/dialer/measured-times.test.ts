import { expect, it } from "vitest";
import { addTimes, noteTime, type Times } from "#functions/dialer/traces/times.ts";
import { usageKeyOf } from "#shared/policy/usage.ts";
import type { Addition } from "#shared/ports/documents.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";

const keyOf = (client: string) => usageKeyOf(0, { client, agentId: "agent_sales" }).key;
const usage = (client: string): Addition => ({
  kind: "usage",
  key: keyOf(client),
  counters: { PLACED: 1 },
  expiresAt: 9,
});
const results: Addition = { kind: "split-results", key: "r", counters: { ended: 1 }, expiresAt: 9 };

/** Counts additions beside the times that were noted. */
function createTimes() {
  const added: Record<string, unknown>[] = [];
  const documents = createMemoryDocuments(
    () => 0,
    () => "v",
  );
  documents.addAll = async (additions) => {
    added.push(...additions.map(({ key, counters }) => ({ key, counters })));
  };
  const times: Times = new Map();
  return { added, times, timed: addTimes(documents, times) };
}

it("adds measured times once, to the first usage of an invocation", async () => {
  const { added, times, timed } = createTimes();
  noteTime(times, "dial", 1_000);
  noteTime(times, "dial", 250);
  noteTime(times, "answer", 70);
  await timed.addAll([results, usage("a"), usage("b")]);
  expect(added).toEqual([
    { key: "r", counters: { ended: 1 } },
    {
      key: keyOf("a"),
      counters: { PLACED: 1, dials: 2, dial_ms: 1_250, answers: 1, answer_ms: 70 },
    },
    { key: keyOf("b"), counters: { PLACED: 1 } },
  ]);
  await timed.addAll([usage("c")]);
  expect(added.at(-1)).toEqual({ key: keyOf("c"), counters: { PLACED: 1 } });
});

it("keeps measured times for an invocation's usage, if only one kind was measured", async () => {
  const { added, times, timed } = createTimes();
  noteTime(times, "answer", 70);
  await timed.addAll([results]);
  expect(added).toEqual([{ key: "r", counters: { ended: 1 } }]);
  await timed.addAll([usage("a")]);
  expect(added.at(-1)).toEqual({
    key: keyOf("a"),
    counters: { PLACED: 1, answers: 1, answer_ms: 70 },
  });
});

it("adds none to the usage of test calls, which is not measured", async () => {
  const { added, times, timed } = createTimes();
  noteTime(times, "answer", 70);
  await timed.addAll([usage("test:crm"), usage("crm")]);
  expect(added).toEqual([
    { key: keyOf("test:crm"), counters: { PLACED: 1 } },
    { key: keyOf("crm"), counters: { PLACED: 1, answers: 1, answer_ms: 70 } },
  ]);
});

it("measures no time below zero, as clocks may be set back", () => {
  const times: Times = new Map();
  noteTime(times, "dial", -5);
  expect(Object.fromEntries(times)).toEqual({ dials: 1, dial_ms: 0 });
});
