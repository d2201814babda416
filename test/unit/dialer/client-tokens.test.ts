import { describe, expect, it } from "vitest";
import { isIdempotent } from "#shared/calls/call-row.ts";
import { createProviders } from "#shared/providers/providers.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  type Bench,
  cancel,
  inUtc,
  neverCall,
  pause,
  rowOf,
  sendEach,
  stateOf,
} from "#test/support/dialer-calls.ts";
import { inSlowTier } from "#test/support/per-tier.ts";

const route = {
  provider: "amazon-connect",
  region: "us-west-2",
  instance: "00fbeee1-123e-111e-93e3-11111bfbfcc1",
  flow: "846ec553",
  from: "+12025550100",
};
const environment = {
  AMAZON_CONNECT_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AMAZON_CONNECT_SECRET_ACCESS_KEY: "key",
};

/** Creates a dialer whose calls go through the adapter to an Amazon Connect of which `answer` decides. */
function createBench(
  answer: (requests: number) => Response,
  { more = {}, startAt }: { more?: object; startAt?: string } = {},
) {
  const plan = { agents: { agent_sales: route }, ...more };
  const bench = createDialerBench({ plan, ...(startAt === undefined ? {} : { startAt }) });
  const tokens: unknown[] = [];
  const connect: typeof fetch = async (_url, init) => {
    const text = await new Response(init?.body ?? null).text();
    const body: { ClientToken: string } = JSON.parse(text);
    tokens.push(body.ClientToken);
    return answer(tokens.length);
  };
  const options = { environment, fetch: connect, now: bench.now, print: () => undefined };
  bench.answer = (call, along, attempt, timeoutSeconds) =>
    createProviders(options, [along])(along).dial(
      { call, attempt, timeoutSeconds, guarded: (own) => own },
      along,
    );
  return { bench, tokens };
}
const failed = () => Response.json({ __type: "InternalServiceException" }, { status: 500 });
const placed = () => Response.json({ ContactId: "c9f2" });

describe("a call of unknown outcome, at Amazon Connect", () => {
  it("is sent again under the same ClientToken, until it is answered", inSlowTier, async () => {
    const { bench, tokens } = createBench((requests) => (requests < 3 ? failed() : placed()));
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.run(200);
    expect(tokens).toEqual([call.id, call.id, call.id]);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "PLACED",
      resent: true,
      providerCallId: "c9f2",
    });
  });

  it("is sent again until its review time, and then waits for a person", async () => {
    const { bench, tokens } = createBench(failed, { more: { reviewAfterSeconds: 300 } });
    const call = aCallNow(bench);
    const startedAt = bench.now();
    await sendEach(bench, call);
    await bench.run(900);
    expect(tokens.length).toBeGreaterThan(2);
    expect(new Set(tokens)).toEqual(new Set([call.id]));
    expect(Math.max(...bench.dialed.map(({ at }) => at))).toBeLessThan(startedAt + 300_000);
    expect(await rowOf(bench, call)).toMatchObject({
      state: "NEEDS_REVIEW",
      reason: "outcome_unknown",
      request: call.request,
    });
  });

  it("is not settled by the refusal of a request that was sent again", async () => {
    const refused = () => Response.json({ __type: "InvalidParameterException" }, { status: 400 });
    const { bench, tokens } = createBench((requests) => (requests === 1 ? failed() : refused()));
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.run(900);
    expect(tokens.length).toBeGreaterThan(1);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it.each<[string, (bench: Bench) => Promise<unknown>]>([
    ["cancelled", (bench) => cancel(bench, { agent: "agent_sales" })],
    ["paused", (bench) => pause(bench, { agent: "agent_sales" })],
    ["on the do-not-call list", (bench) => neverCall(bench, "+12025550123")],
  ])("is not sent again where it is %s since, and waits for a person", async (_, order) => {
    const { bench, tokens } = createBench(failed);
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.deliver();
    await order(bench);
    await bench.run(900);
    expect(tokens).toEqual([call.id]);
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it("is not sent again once its hours have closed, and waits for a person", async () => {
    const { bench, tokens } = createBench(failed, {
      more: {
        callingHours: { default: { "mon-fri": ["09:00-17:00"] } },
        defaultTimeZone: "UTC",
        reviewAfterSeconds: 600,
      },
      startAt: "2026-06-01T16:59:20Z",
    });
    const call = aCallNow(bench, inUtc());
    await sendEach(bench, call);
    await bench.simulate(3600);
    expect(tokens.length).toBeGreaterThan(0);
    for (const { at } of bench.dialed) expect(at).toBeLessThan(Date.parse("2026-06-01T16:59:30Z"));
    expect(await stateOf(bench, call)).toBe("NEEDS_REVIEW");
  });

  it("is not sent again where the plan does not rely on the token", async () => {
    const { bench, tokens } = createBench(failed, {
      more: { agents: { agent_sales: { ...route, idempotent: false } } },
    });
    const call = aCallNow(bench);
    await sendEach(bench, call);
    await bench.run(900);
    expect(tokens).toEqual([call.id]);
    expect(await rowOf(bench, call)).toMatchObject({ state: "NEEDS_REVIEW", resent: false });
  });
});

describe("a later attempt at Amazon Connect", () => {
  it(
    "carries the call's one ClientToken too, so that no two of its requests make two calls",
    inSlowTier,
    async () => {
      const busy = () => Response.json({ __type: "LimitExceededException" }, { status: 429 });
      const { bench, tokens } = createBench((requests) => (requests < 3 ? busy() : placed()));
      const call = aCallNow(bench);
      await sendEach(bench, call);
      await bench.run(300);
      expect(tokens).toEqual([call.id, call.id, call.id]);
      expect(await stateOf(bench, call)).toBe("PLACED");
    },
  );
});

it("takes a route of Amazon Connect for idempotent, as its parsed form says so", () => {
  const { bench } = createBench(placed);
  expect(isIdempotent(bench.plan.agents["agent_sales"] ?? null)).toBe(true);
});
