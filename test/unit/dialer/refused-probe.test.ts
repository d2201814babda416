import { describe, expect, it } from "vitest";
import { countRefusedProbe, isRefusedProbe } from "#functions/dialer/breakers/refused-probe.ts";
import { backlogBreakerOf, numbersBlamed } from "#shared/policy/breakers.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { dayMs, minuteMs } from "#shared/lib/units.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { documentOf, putDocument, webhook } from "#test/support/dialer-calls.ts";
import { routeFrom } from "#test/support/plans.ts";

type Breaker = ValueOf<"breaker">;

const route = routeFrom("webhook", webhook);
const of = { client: "crm", agentId: "agent_sales" };
const openedAt = 1_000_000;
const open: Breaker = {
  state: "open",
  cause: "calls_refused",
  code: "http_422",
  openedAt,
  probeAt: openedAt + minuteMs,
  intervalMs: minuteMs,
  room: 0,
  blamed: [],
};
const rejected: DialOutcome = { kind: "rejected", code: "http_422" };
const blaming: DialOutcome = { ...rejected, blamesNumber: true };

function isProbe(outcome: DialOutcome, value: Breaker = open, key = backlogBreakerOf(of)): boolean {
  const stored = { kind: "breaker", key, version: "v", json: JSON.stringify(value) } as const;
  return isRefusedProbe(outcome, of, toDocumentsRead([{ ...stored, expiresAt: null }]));
}

describe("the probe of a backlog's breaker of refusals", () => {
  it.each<[DialOutcome, boolean]>([
    [rejected, true],
    [{ kind: "forbidden", code: "http_403" }, true],
    [blaming, false],
    [{ ...rejected, blamesNumber: false }, true],
    [{ kind: "placed" }, false],
    [{ kind: "not_placed", code: "http_429" }, false],
    [{ kind: "not_placed", code: "http_429", blamesNumber: true }, false],
    [{ kind: "account_refused", code: "http_401" }, false],
    [{ kind: "unknown", code: "http_500" }, false],
  ])("%j is refused: %s", (outcome, expected) => {
    expect(isProbe(outcome)).toBe(expected);
  });

  it("is refused though its number is blamed where the breaker opened for blamed numbers", () => {
    expect(isProbe(blaming, { ...open, code: numbersBlamed })).toBe(true);
  });

  it("is one while the breaker is open for refused calls", () => {
    expect(isProbe(rejected, { ...open, state: "half_open" })).toBe(false);
    expect(isProbe(rejected, { ...open, cause: "busy" })).toBe(false);
    expect(isProbe(rejected, open, backlogBreakerOf({ ...of, client: "shop" }))).toBe(false);
    expect(isRefusedProbe(rejected, of, toDocumentsRead([]))).toBe(false);
  });
});

describe("refused probes", () => {
  /** Returns a bench with a client's breaker, and what counts a probe that was sent at a time. */
  async function createProbes(value: Breaker | undefined, client = "crm") {
    const bench = createDialerBench();
    const key = backlogBreakerOf({ ...of, client });
    if (value !== undefined) await putDocument(bench, { kind: "breaker", key }, value);
    const call = {
      ...of,
      client,
      route,
      account: "webhook",
      numberHash: "hash",
      country: undefined,
    };
    const count = (sentAt: number) => countRefusedProbe({ call: { ...call, sentAt } }, bench.deps);
    const stored = async () => (await documentOf(bench, "breaker", key))?.value;
    return { bench, count, stored, alarms: () => bench.eventsOf("breaker.refusing") };
  }

  it("raise an alarm at the tenth, and then once a day", async () => {
    const { bench, count, stored, alarms } = await createProbes({ ...open, refused: 5 });
    for (let n = 0; n < 9; n++) await count(openedAt);
    expect(await stored()).toMatchObject({ refused: 14, refusedProbes: 9 });
    expect(await stored()).not.toHaveProperty("alarmedAt");
    expect(alarms()).toEqual([]);
    await count(openedAt);
    expect(alarms()).toMatchObject([{ level: "alarm", code: "http_422", count: 15 }]);
    bench.advance(dayMs - 1);
    await count(openedAt);
    expect(alarms()).toHaveLength(1);
    bench.advance(1);
    await count(openedAt);
    expect(alarms()).toHaveLength(2);
    await count(openedAt);
    expect(alarms()).toHaveLength(2);
    expect(await stored()).toMatchObject({
      refused: 18,
      refusedProbes: 13,
      alarmedAt: bench.now(),
    });
  });

  it("of a test client raise a warning", async () => {
    const { count, alarms } = await createProbes({ ...open, refusedProbes: 9 }, "test:crm");
    await count(openedAt);
    expect(alarms()).toMatchObject([{ level: "warning", count: 1 }]);
  });

  it("count for the opening that they were sent after, while it lasts", async () => {
    for (const [value, sentAt] of [
      [{ ...open, refusedProbes: 9 }, openedAt - 1],
      [{ ...open, state: "half_open", refusedProbes: 9 }, openedAt],
      [undefined, openedAt],
    ] as const) {
      const { count, stored, alarms } = await createProbes(value);
      const before = await stored();
      await count(sentAt);
      expect([await stored(), alarms()]).toEqual([before, []]);
    }
  });
});
