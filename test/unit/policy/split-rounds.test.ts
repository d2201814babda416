import { describe, expect, it } from "vitest";
import { toSplitMark } from "#shared/calls/split-mark.ts";
import {
  findRound,
  readRound,
  resultsKeyOf,
  roundKeyOf,
  splitAdditions,
} from "#shared/policy/split-rounds.ts";
import type { UsageStep } from "#shared/policy/usage-ends.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";

const name = "agent_any";
const half = { agent_a: 1, agent_b: 1 };

/** Creates documents that count how often they are read and written, and a way to the round at a time. */
function createRounds() {
  let versions = 0;
  const freshVersion = () => `v${++versions}`;
  const documents = createMemoryDocuments(() => 0, freshVersion);
  const counted = { reads: 0, writes: 0 };
  const { read, write } = documents;
  const stores = {
    freshVersion,
    documents: {
      ...documents,
      read: (...asked: Parameters<typeof read>) => {
        counted.reads += 1;
        return read(...asked);
      },
      write: (...changes: Parameters<typeof write>) => {
        counted.writes += 1;
        return write(...changes);
      },
    },
  };
  const roundAt = (at: number, arms: Readonly<Record<string, number>> = half, detectPoints = 50) =>
    findRound({ name, split: { arms, detectPoints }, firstKey: "key" }, at, stores);
  return { documents, stores, counted, roundAt };
}

describe("the round of a split", () => {
  it("begins with the first call, and stands while the weights do, in whatever order", async () => {
    const { roundAt, counted } = createRounds();
    const first = await roundAt(5);
    expect(first.since).toBe(5);
    expect(counted).toEqual({ reads: 1, writes: 1 });
    expect(await roundAt(6, { agent_b: 1, agent_a: 1 })).toEqual(first);
    expect(counted).toEqual({ reads: 2, writes: 1 });
  });

  it.each([
    [{ agent_a: 1, agent_b: 2 }],
    [{ agent_a: 2, agent_b: 1 }],
    [{ agent_a: 1 }],
    [{ agent_a: 1, agent_b: 1, agent_c: 1 }],
    [{ agent_a: 1, agent_c: 1 }],
  ])("is another one with the weights %j, under the same key", async (arms) => {
    const { roundAt } = createRounds();
    const { key } = await roundAt(5);
    expect(await roundAt(7, arms)).toMatchObject({ key, since: 7, arms });
  });

  it("is another one with another difference to find, so that nobody sets the verdict's size by the results", async () => {
    const { roundAt, documents } = createRounds();
    const { key } = await roundAt(5, half, 5);
    expect(await roundAt(7, half, 20)).toMatchObject({ key, since: 7, detectPoints: 20 });
    const before = { name, split: { arms: half, detectPoints: 5 } };
    expect((await readRound(before, documents)).round).toBeUndefined();
  });

  it("is that of the process whose write comes first", async () => {
    const { stores, roundAt, documents } = createRounds();
    const { write } = stores.documents;
    let other: unknown;
    stores.documents.write = async (changes) => {
      stores.documents.write = write;
      other = await roundAt(4);
      return write(changes);
    };
    expect(await roundAt(5)).toEqual(other);
    const { kind, key } = roundKeyOf(name);
    expect((await documents.read([{ kind, key }])).get(kind, key)?.value).toEqual(other);
  });

  it("throws after five write conflicts", async () => {
    const { stores, counted, roundAt } = createRounds();
    stores.documents.write = async (changes) => {
      counted.writes += 1;
      return changes.map(() => false);
    };
    await expect(roundAt(5)).rejects.toThrow("again and again");
    expect(counted).toEqual({ reads: 5, writes: 5 });
  });
});

describe("the results of a round", () => {
  const since = 7;
  const step = (outcome: string, more: Partial<UsageStep["of"]> = {}, count = 1): UsageStep => ({
    of: { client: "crm", agentId: "agent_a", split: toSplitMark({ name, since }), ...more },
    counters: { PLACED: 1 },
    chains: { [outcome]: count },
  });

  it.each([
    ["completed", { ended: 1, answered: 1, completed: 1 }],
    ["voicemail", { ended: 1, answered: 1 }],
    ["no_answer", { ended: 1 }],
    ["busy", { ended: 1 }],
    ["declined", { ended: 1 }],
    ["failed", { ended: 1 }],
    ["invalid", { ended: 1 }],
    ["blocked", { ended: 1 }],
  ])("count a chain that ended %s", (outcome, counters) => {
    const key = resultsKeyOf({ name, since }, "agent_a");
    expect(splitAdditions([step(outcome)], 99)).toEqual([{ ...key, counters, expiresAt: 99 }]);
  });

  it("leave out a chain whose result is unknown, and tests, which show nothing about people", () => {
    expect(splitAdditions([step("unknown")], 99)).toEqual([]);
    expect(splitAdditions([step("completed", { client: "test:crm" })], 99)).toEqual([]);
  });

  it("are sums by arm and round, without calls that no split has divided", () => {
    const steps = [
      step("completed"),
      step("busy"),
      step("completed", {}, -1),
      step("voicemail", { agentId: "agent_b" }),
      step("completed", { split: toSplitMark({ name, since: 8 }) }),
      step("completed", { split: undefined }),
    ];
    const sums = splitAdditions(steps, 99).map(({ key, counters }) => ({ key, counters }));
    const keyOf = (arm: string, at = since) => resultsKeyOf({ name, since: at }, arm).key;
    expect(sums).toEqual([
      { key: keyOf("agent_a"), counters: { ended: 1, answered: 0, completed: 0 } },
      { key: keyOf("agent_b"), counters: { ended: 1, answered: 1 } },
      { key: keyOf("agent_a", 8), counters: { ended: 1, answered: 1, completed: 1 } },
    ]);
  });

  it("are read with the weights and the size that the plan has", async () => {
    const { roundAt, documents } = createRounds();
    const arms = { ...half, agent_c: 0 };
    const split = { arms, detectPoints: 50 };
    const none = { ended: 0, answered: 0, completed: 0 };
    const before = await readRound({ name, split }, documents);
    expect(before.round).toBeUndefined();
    await roundAt(since, arms);
    await documents.addAll(splitAdditions([step("completed"), step("busy")], 99));
    expect(await readRound({ name, split }, documents)).toMatchObject({
      round: { value: { since } },
      // Two arms are compared: a third one without a weight has no calls.
      size: 16,
      arms: [
        { arm: "agent_a", weight: 1, ended: 2, answered: 1, completed: 1 },
        { arm: "agent_b", weight: 1, ...none },
        { arm: "agent_c", weight: 0, ...none },
      ],
    });
    const changed = { arms: { ...half, agent_c: 1 }, detectPoints: 50 };
    expect(await readRound({ name, split: changed }, documents)).toMatchObject({
      round: undefined,
      size: 20,
      arms: [none, none, none],
    });
  });
});
