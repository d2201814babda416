import { expect, it } from "vitest";
import { createDialerBench } from "../../support/dialer.ts";
import { type Bench, iso, sendRequest } from "../../support/dialer-calls.ts";

const startAt = "2026-06-01T10:00Z";

/** Sends the calls of one request, and resolves to their ids. */
const sendCalls = async (bench: Bench, count: number) =>
  (await sendRequest(bench, count, { timezone: "UTC" })).map(({ id }) => id);
const idsOf = ({ dialed }: Bench) => dialed.map(({ call }) => call.id);

it.each([8, 60])(
  "calls up %i calls that wait for their hours in their order, none ahead of its hours",
  async (count) => {
    const callingHours = { default: { "mon-sun": ["12:00-20:00"] } };
    const providers = { webhook: { callsPerSecond: 0.2 } };
    const bench = createDialerBench({ startAt, plan: { callingHours, providers } });
    bench.advance(37_000); // sweeps find them 20 s before their hours
    const ids = await sendCalls(bench, count);
    bench.advance(1000);
    ids.push(...(await sendCalls(bench, 30)));
    await bench.simulate(4 * 3600);
    expect(idsOf(bench)).toEqual(ids);
    expect(iso(bench.dialed[0]?.at)).toBe("2026-06-01T12:00:02");
    expect(
      new Set(bench.dialed.slice(1).map(({ at }, n) => at - (bench.dialed[n]?.at ?? 0))),
    ).toEqual(new Set([5000]));
  },
);

it.each([1, 3])(
  "leaves the time before %i calls that wait for their hours to others",
  async (few) => {
    const url = "http://127.0.0.1:9/dial";
    const bench = createDialerBench({
      startAt,
      plan: {
        agents: {
          agent_sales: { provider: "webhook", url, callingHours: "late" },
          agent_support: { provider: "webhook", url },
        },
        callingHours: { default: "always", late: { "mon-sun": ["10:01-20:00"] } },
        providers: { webhook: { callsPerSecond: 1 } },
      },
    });
    await sendRequest(bench, few, { timezone: "UTC", agent_id: "agent_sales" });
    await bench.simulate(5, { firstSweepSeconds: 2 });
    const ids = await sendRequest(bench, 20, { timezone: "UTC", agent_id: "agent_support" });
    await bench.simulate(300, { firstSweepSeconds: 57 });
    expect(bench.dialed.slice(0, 20).map(({ call }) => call.id)).toEqual(ids.map(({ id }) => id));
    expect(iso(bench.dialed[19]?.at)).toBe("2026-06-01T10:00:24");
    expect(bench.dialed).toHaveLength(20 + few);
  },
);

it.each([
  { burst: 1, before: 0 },
  { burst: 2, before: 0 },
  { burst: 5, before: 3 },
])(
  "dials the calls of a message in their order, though few may go at once ($burst, $before before)",
  async ({ burst, before }) => {
    const providers = { webhook: { callsPerSecond: 1, burst } };
    const bench = createDialerBench({ startAt, plan: { providers } });
    const first = before === 0 ? [] : await sendCalls(bench, before);
    await bench.simulate(1);
    const ids = [...first, ...(await sendCalls(bench, 21))];
    await bench.simulate(120);
    expect(idsOf(bench)).toEqual(ids);
  },
);

it("calls rows up after the places that another writer took meanwhile", async () => {
  const bench = createDialerBench({
    startAt,
    plan: { providers: { webhook: { callsPerSecond: 1 } } },
  });
  const { takePermits } = bench.documents;
  bench.breakDocuments({
    async takePermits(document, pace, permits, window) {
      // The other writer's rows are of another backlog.
      if (document.kind === "called-up") await takePermits(document, pace, 10, window);
      return takePermits(document, pace, permits, {
        ...window,
        notAfter: window.notAfter + 10_000,
      });
    },
  });
  await sendCalls(bench, 30);
  await bench.simulate(1, { firstSweepSeconds: 600 });
  bench.mendLedger();
  await bench.simulate(300, { firstSweepSeconds: 600 });
  // A hint comes four seconds ahead of its place.
  expect(bench.dialed[0]?.at).toBeGreaterThanOrEqual(Date.parse(startAt) + 6_000);
});
