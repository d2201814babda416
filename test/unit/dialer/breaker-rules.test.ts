import { toAccountName } from "#shared/calls/ids.ts";
import { describe, expect, it } from "vitest";
import { answerBreaker, openBreaker as open } from "#functions/dialer/breakers/circuit-breaker.ts";
import { recordOutcome } from "#functions/dialer/breakers/record-outcome.ts";
import type { BreakerCause } from "#shared/ports/document-kinds.ts";
import {
  account,
  breakerOf,
  createBreakersBench as createBench,
  dialEach,
  openBreaker,
  opened,
  own,
  placed,
  unreachable,
  stateOfBreaker,
  times,
} from "#test/support/breakers-bench.ts";
import { documentOf, putDocument } from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Answers a standing breaker by a call of a minute later. */
async function answer(cause: BreakerCause, isPlaced: boolean) {
  const bench = createBench();
  await openBreaker(bench, own, { cause });
  const breaker = await documentOf(bench, "breaker", own);
  if (breaker === undefined) throw new Error("the breaker is not open");
  bench.advance(60_000);
  await answerBreaker(breaker, { isPlaced, sentAt: bench.now() }, bench.deps);
  return stateOfBreaker(bench, own);
}

describe("an open breaker", () => {
  it("is closed by any answer after silence, and after refusals by a placed call alone", async () => {
    expect(await answer("unreachable", false)).toBeUndefined();
    expect(await answer("account_refused", false)).toBe("open");
    expect(await answer("account_refused", true)).toBeUndefined();
  });

  it("of a later version's cause is closed by a placed call alone", async () => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the cause must be an unknown one
    const later = "region_refused" as BreakerCause;
    expect(await answer(later, false)).toBe("open");
    expect(await answer(later, true)).toBeUndefined();
  });

  it("ignores failures of requests that were sent before it opened", async () => {
    const bench = createBench();
    const sentAt = bench.now() - 5_000;
    await openBreaker(bench, own, { cause: "busy" });
    const before = await breakerOf(bench, own);
    await open(own, { cause: "busy", code: "http_429", sentAt, waitMs: 600_000 }, bench.deps);
    await open(own, { cause: "account_refused", code: "http_401", sentAt }, bench.deps);
    expect(await breakerOf(bench, own)).toEqual(before);
  });

  it("takes the provider's own wait from each probe that is refused", async () => {
    const bench = createBench();
    await openBreaker(bench, own, { cause: "busy" });
    bench.advance(30_000);
    const opening = { cause: "busy", code: "http_429", sentAt: bench.now() } as const;
    await open(own, { ...opening, waitMs: 90_000 }, bench.deps);
    expect((await breakerOf(bench, own))?.probeAt).toBe(bench.now() + 90_000);
  });
});

describe("the counts of failures", () => {
  it("weigh old answers less: a long good time keeps no breaker closed", inSlowTier, async () => {
    const bench = createBench();
    await dialEach(bench, [unreachable, ...times(80, placed)]);
    const from = bench.dialed.length;
    while (opened(bench).length === 0 && bench.dialed.length < from + 60) {
      await dialEach(bench, [unreachable, unreachable, placed]);
    }
    expect(opened(bench)).toEqual([own]);
  });

  it("are not reset by a success whose request was sent before they began", async () => {
    const bench = createBench();
    const key = { kind: "counters", key: account } as const;
    const current = { since: bench.now(), inRow: 9, of_shop: 9 };
    await putDocument(bench, key, current);
    const read = await bench.deps.documents.read([key]);
    const route = { provider: "vapi", account: toAccountName("vapi") } as const;
    const of = { numberHash: "hash", country: "US" };
    const call = { client: "crm", agentId: "agent_sales", route, account: route.account, ...of };
    await recordOutcome(placed, { call: { ...call, sentAt: bench.now() - 1 }, read }, bench.deps);
    expect((await documentOf(bench, "counters", account))?.value).toEqual(current);
    await recordOutcome(placed, { call: { ...call, sentAt: bench.now() + 1 }, read }, bench.deps);
    expect((await documentOf(bench, "counters", account))?.value).toEqual({});
  });
});

describe("an account's breaker", () => {
  it("stays closed where another backlog was answered between two in trouble", async () => {
    const bench = createBench();
    await dialEach(bench, times(5, unreachable));
    await dialEach(bench, [placed], { client: "answered" });
    await dialEach(bench, times(5, unreachable), { client: "shop" });
    expect(opened(bench)).toHaveLength(2);
    expect(await stateOfBreaker(bench, account)).not.toBe("open");
    await dialEach(bench, times(5, unreachable), { client: "third" });
    expect(await stateOfBreaker(bench, account)).toBe("open");
  });
});
