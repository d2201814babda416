import { toAccountName } from "#shared/calls/ids.ts";
import { accountOf } from "#test/support/account-of.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallResult } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { recordResult } from "#shared/calls/record-result.ts";
import { states } from "#shared/calls/states.ts";
import {
  applyAction,
  applyClaim,
  applyDecision,
  applySettlement,
  expireClaim,
  recordLookupMiss,
  requireReview,
} from "#shared/calls/transitions.ts";
import { randomVersion } from "#shared/lib/random.ts";
import {
  addUsage,
  changedStep,
  costsIn,
  enteredStep,
  type KnownUsage,
  parseUsageKey,
  usageKeyOf,
} from "#shared/policy/usage.ts";
import { endsIn, type UsageOf } from "#shared/policy/usage-ends.ts";
import { readUsage } from "#functions/api/actions/read-usage.ts";
import { aCall } from "#test/support/calls.ts";
import { createMemoryDocuments } from "#test/support/memory-documents.ts";
import { perTier } from "#test/support/per-tier.ts";

const hourMs = 3_600_000;
const noon = Date.UTC(2026, 10, 20, 12);
const call = aCall({ acceptedAt: noon });
const route = {
  account: toAccountName("webhook"),
  provider: "webhook",
  url: "http://127.0.0.1:9/dial",
} as const;
const newCall = { call, numberHash: "hash", numberTail: "23" };
const nothing = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };

/** A change that may happen to a call. Those that its row does not allow change nothing. */
type Change = (row: CallRow | undefined, at: number) => CallRow | undefined;

const write = (at: number) => ({ version: randomVersion(), at });
const settle =
  (state: "PLACED" | "REJECTED" | "UNKNOWN" | "WAITING" | "NEEDS_REVIEW", isPolled = false) =>
  (row: CallRow | undefined, at: number) => {
    const claim = row?.claims.at(-1);
    if (row === undefined || claim === undefined) return undefined;
    const pollAt = isPolled ? { pollAt: at } : {};
    const settlement = { id: row.id, claim, state, reason: state, at, dueAt: at, ...pollAt };
    return applySettlement(row, settlement, randomVersion());
  };
const decide =
  (state: "WAITING" | "EXPIRED" | "REJECTED" | "CANCELLED" | "NEEDS_REVIEW") =>
  (row: CallRow | undefined, at: number) => {
    const decision =
      state === "WAITING" ? { state, reason: "hours", dueAt: at } : { state, reason: "r" };
    return applyDecision(row, { newCall, decision }, write(at));
  };
const act = (to: "PLACED" | "CANCELLED" | "REDIALED") => (row: CallRow | undefined, at: number) => {
  const action = to === "REDIALED" ? { to, redialedAs: "other" } : { to };
  return row && applyAction(row, { action, by: "ada" }, write(at));
};
const report = (result: CallResult) => (row: CallRow | undefined, at: number) =>
  row && recordResult(row, { result, pollAt: at }, write(at));

const changes: Record<string, Change> = {
  claim: (row, at) => applyClaim(row, { newCall, route, account: accountOf(route, 1) }, write(at)),
  place: settle("PLACED"),
  placeAndPoll: settle("PLACED", true),
  reject: settle("REJECTED"),
  unknown: settle("UNKNOWN"),
  wait: settle("WAITING"),
  forbid: settle("NEEDS_REVIEW"),
  hours: decide("WAITING"),
  expire: decide("EXPIRED"),
  refuse: decide("REJECTED"),
  cancel: decide("CANCELLED"),
  dead: decide("NEEDS_REVIEW"),
  lapse: (row, at) => row && expireClaim(row, at, write(at)),
  miss: (row, at) => row && recordLookupMiss(row, at, write(at)),
  review: (row, at) => row && requireReview(row, 0, write(at)),
  resolvePlaced: act("PLACED"),
  close: act("CANCELLED"),
  redial: act("REDIALED"),
  live: report({ ...nothing, status: "live" }),
  completed: report({
    ...nothing,
    status: "completed",
    human: true,
    seconds: 61.4,
    cost: { amount: "0.0421", currency: "USD" },
  }),
  busy: report({ ...nothing, status: "busy" }),
  // An unknown result keeps the length and the cost that its record has named.
  lost: report({
    ...nothing,
    status: "unknown",
    seconds: 30,
    cost: { amount: "0.02", currency: "USD" },
  }),
};

/** Applies changes a minute apart, and sums what they add. DIALING's entry is counted by its settlement alone, as in the dialer. */
function live(names: readonly string[]) {
  const sums: Record<string, number> = {};
  let row: CallRow | undefined;
  for (const [index, name] of names.entries()) {
    const at = noon + index * 60_000;
    const next = changes[name]?.(row, at);
    if (next === undefined) continue;
    const isPolled = next.dueAt !== null;
    const step =
      row === undefined
        ? enteredStep({ ...next, before: [], isPolled }, at)
        : changedStep(row, next, at);
    row = next;
    if (next.state === "DIALING") continue;
    for (const [counter, count] of Object.entries(step.counters))
      sums[counter] = (sums[counter] ?? 0) + count;
  }
  return { row, sums };
}

describe("the usage of a call", () => {
  it("counts its acceptance, its placement, its result and its end once, whatever happens to it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...Object.keys(changes)), { maxLength: 25 }),
        (names) => {
          const { row, sums } = live(names);
          if (row === undefined || (row.state === "DIALING" && row.history.length === 1)) return;
          expect(sums["accepted"] ?? 0).toBe(1);
          // However often it waits again, it is one call that waits.
          expect(sums["WAITING"] ?? 0).toBeLessThanOrEqual(1);
          expect(sums["PLACED"] ?? 0).toBe(row.state === "PLACED" ? 1 : 0);
          const status = row.result?.status;
          for (const one of ["completed", "busy", "unknown"])
            expect([one, sums[one] ?? 0]).toEqual([one, status === one ? 1 : 0]);
          const seconds = { completed: 61, unknown: 30 };
          const millionths = { completed: 42_100, unknown: 20_000 };
          const known = status === "completed" || status === "unknown" ? status : undefined;
          expect(sums["seconds"] ?? 0).toBe(known === undefined ? 0 : seconds[known]);
          expect(sums["cost USD"] ?? 0).toBe(known === undefined ? 0 : millionths[known]);
          const ends = endsIn(noon, sums);
          const isOver =
            !states[row.state].open && row.state !== "NEEDS_REVIEW" && row.dueAt === null;
          const wasOver = row.history.some(({ state }) =>
            ["REJECTED", "EXPIRED", "CANCELLED", "REDIALED"].includes(state),
          );
          expect(ends.reduce((sum, { count }) => sum + count, 0)).toBe(isOver || wasOver ? 1 : 0);
        },
      ),
      { numRuns: perTier({ quick: 300, long: 3000 }) },
    );
  });

  it.each([
    [["claim", "placeAndPoll", "completed"], "completed"],
    [["claim", "placeAndPoll", "lost"], "unknown"],
    [["claim", "placeAndPoll", "lost", "completed"], "completed"],
    [["claim", "unknown", "placeAndPoll", "lost", "busy"], "busy"],
    [["claim", "place"], "PLACED"],
    [["claim", "place", "busy"], "busy"],
    [["claim", "place", "live"], undefined],
    [["claim", "place", "live", "busy"], "busy"],
    [["claim", "unknown", "place", "completed"], "completed"],
    [["hours", "expire"], "EXPIRED"],
    [["claim", "reject", "redial"], "REJECTED"],
    [["claim", "forbid", "close"], "CANCELLED"],
    [["claim", "unknown", "placeAndPoll", "busy"], "busy"],
  ])("of %j ends as %s", (names, outcome) => {
    const ends = endsIn(noon, live(names).sums).filter(({ count }) => count !== 0);
    expect(ends.map((one) => one.outcome)).toEqual(outcome === undefined ? [] : [outcome]);
  });

  it("sums costs in millionths, and reports them as decimals", () => {
    expect(costsIn({ "cost USD": 42_100, "cost EUR": 12_000_000, PLACED: 1 })).toEqual([
      { amount: "0.0421", currency: "USD" },
      { amount: "12", currency: "EUR" },
    ]);
    expect(costsIn({ "cost USD": 1 })).toEqual([{ amount: "0.000001", currency: "USD" }]);
    expect(costsIn({ "cost USD": 100_000_000_000 })).toEqual([
      { amount: "100000", currency: "USD" },
    ]);
  });

  it("places an end into its five minutes", () => {
    const { sums } = live([...Array.from({ length: 11 }, () => "hours"), "expire"]);
    expect(endsIn(noon, sums)).toEqual([{ at: noon + 10 * 60_000, outcome: "EXPIRED", count: 1 }]);
  });

  it("does not count a redial or a later try as accepted", () => {
    const entry = { ...newCall.call, agentId: "a", state: "WAITING", before: [], isPolled: false };
    const { counters } = enteredStep({ ...entry, state: "WAITING", ancestors: ["first"] }, noon);
    expect(counters).toEqual({ WAITING: 1 });
  });
});

describe("the documents of usage", () => {
  const create = () => createMemoryDocuments(() => noon, randomVersion);
  const agents = { agent_sales: {} };
  const hour = (known: KnownUsage = new Map()) => ({
    at: noon,
    retentionMs: 60 * hourMs,
    known,
    agents,
  });
  const step = (of: Partial<UsageOf> = {}) => ({
    of: { client: "crm", agentId: "agent_sales", ...of },
    counters: { PLACED: 1 },
  });
  const readKeys = async (documents: ReturnType<typeof create>) =>
    (await documents.list("usage", { limit: 1000 })).map(({ key }) => parseUsageKey(key));

  it("are one write for a hundred calls of one agent, and one for each other agent", async () => {
    const documents = create();
    let writes = 0;
    const counting = {
      ...documents,
      addAll: (all: Parameters<typeof documents.addAll>[0]) => {
        writes += all.length;
        return documents.addAll(all);
      },
      list: async () => Promise.reject(new Error("a named agent's calls read nothing")),
    };
    await addUsage(
      Array.from({ length: 100 }, () => step()),
      hour(),
      counting,
    );
    expect(writes).toBe(1);
    await addUsage([step(), step({ client: "shop" })], hour(), counting);
    expect(writes).toBe(3);
    const { usage } = await readUsage({ from: noon, to: noon }, documents);
    expect(usage.map(({ client, counters }) => [client, counters])).toEqual([
      ["shop", { PLACED: 1 }],
      ["crm", { PLACED: 101 }],
    ]);
  });

  it.each([
    [
      "campaigns",
      (n: number) => ({ labels: { campaign: `c${n}` } }),
      { labels: { campaign: "*other" } },
    ],
    [
      "agents that the plan does not name",
      (n: number) => ({ agentId: `a${n}` }),
      { agentId: "*other" },
    ],
  ])("are at most 100 a client and hour for %s, and one for the rest", async (_, of, rest) => {
    const documents = create();
    const processes = [hour(), hour()];
    for (let n = 0; n < 150; n++) {
      const own = processes[n % 2] ?? hour();
      await addUsage([step(of(n))], own, documents);
    }
    await addUsage([step({ client: "shop", ...of(149) })], hour(), documents);
    const keys = await readKeys(documents);
    const ofCrm = keys.filter(({ client }) => client === "crm");
    expect(ofCrm).toHaveLength(101);
    expect(ofCrm).toContainEqual(expect.objectContaining(rest));
    expect(keys).toContainEqual(expect.objectContaining({ client: "shop", ...of(149) }));
    const { usage } = await readUsage({ from: noon, to: noon }, documents);
    expect(usage.reduce((sum, { counters }) => sum + (counters["PLACED"] ?? 0), 0)).toBe(151);
    // A campaign that has a document counts by its own name.
    await addUsage([step(of(3))], hour(), documents);
    const { key } = usageKeyOf(noon, step(of(3)).of);
    const found = (await documents.read([{ kind: "usage", key }])).get("usage", key);
    expect(found?.value).toEqual({ PLACED: 2 });
  });

  it("are one read and 101 writes at most, however many names a client has at once", async () => {
    const documents = create();
    let [lists, adds] = [0, 0];
    const counting: typeof documents = {
      ...documents,
      list: (...query) => {
        lists += 1;
        return documents.list(...query);
      },
      addAll: (all) => {
        adds += all.length;
        return documents.addAll(all);
      },
    };
    const steps = Array.from({ length: 500 }, (_, n) => step({ agentId: `a${n}` }));
    const own = hour();
    await addUsage(steps, own, counting);
    expect([lists, adds]).toEqual([1, 101]);
    await addUsage(steps, own, counting);
    expect([lists, adds]).toEqual([1, 202]);
    const { usage } = await readUsage({ from: noon, to: noon }, documents);
    expect(usage.reduce((sum, { counters }) => sum + (counters["PLACED"] ?? 0), 0)).toBe(1000);
  });

  it("are read by hours, the newest first, and say how far back", async () => {
    const documents = create();
    for (const hours of [-30, -2, -1, 0, 1])
      await addUsage([step()], { ...hour(), at: noon + hours * hourMs + 1 }, documents);
    const read = await readUsage({ from: noon - 2 * hourMs + 5, to: noon + 7 }, documents);
    expect(read.from).toBe(noon - 2 * hourMs);
    expect(read.usage.map((one) => one.hour)).toEqual([noon, noon - hourMs, noon - 2 * hourMs]);
  });
});
