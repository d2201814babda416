import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import { aCallNow, neverCall, rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

/** Pairs of numbers by which one phone rings, or may. */
const pairs = [
  ["+5491123456789", "+541123456789"],
  ["+525512345678", "+5215512345678"],
  ["+5511987654321", "+551187654321"],
  ["+551187654321", "+5511987654321"],
] as const;
const everywhere = { destinations: { allow: ["*"] } };

describe("a number in another form", () => {
  it.each(pairs)("%s is not dialed while %s is on the do-not-call list", async (one, other) => {
    const bench = createDialerBench({ plan: everywhere });
    await neverCall(bench, other);
    const call = aCallNow(bench, { phone_number: one });
    await sendEach(bench, call);
    await bench.deliver();
    expect(await rowOf(bench, call)).toMatchObject({ state: "REJECTED", reason: "do_not_call" });
    expect(bench.dialed).toEqual([]);
  });

  it.each(pairs)("%s counts for the cap with %s", inSlowTier, async (one, other) => {
    const plan = { ...everywhere, maxCalls: { count: 1, days: 1 } };
    const bench = createDialerBench({ plan });
    const [first, second] = [one, other].map((phone_number) => aCallNow(bench, { phone_number }));
    if (first === undefined || second === undefined) throw new Error("two calls were made");
    await sendEach(bench, first);
    await bench.simulate(10);
    expect(bench.dialed).toHaveLength(1);
    await sendEach(bench, second);
    await bench.simulate(10);
    expect(bench.dialed).toHaveLength(1);
    expect(await rowOf(bench, second)).toMatchObject({ state: "WAITING", reason: "max_calls" });
  });

  it("that cannot be of the same phone is dialed", inSlowTier, async () => {
    const plan = { ...everywhere, maxCalls: { count: 1, days: 1 } };
    const bench = createDialerBench({ plan });
    await neverCall(bench, "+5511933334444");
    await sendEach(
      bench,
      ...["+551133334444", "+541123456789", "+542211234567"].map((phone_number) =>
        aCallNow(bench, { phone_number }),
      ),
    );
    await bench.simulate(10);
    expect(bench.dialed).toHaveLength(3);
  });
});
