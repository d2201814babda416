import { describe, expect, it } from "vitest";
import { createDialerBench } from "../../support/dialer.ts";
import { callsNow, message, webhook } from "../../support/dialer-calls.ts";

const agents = { agent_sales: { ...webhook, checks: ["crm"] }, agent_support: webhook };
const url = "http://127.0.0.1:9/crm";

describe("calls of 200 clients that wait for a check", () => {
  it.each([
    { how: "has a low pace", crm: { url, requestsPerSecond: 0.5 }, checkMs: 0, askedMin: 45 },
    { how: "is slow", crm: { url, timeoutSeconds: 10 }, checkMs: 9_900, askedMin: 45 },
  ])("that $how do not stop the account's others", async ({ crm, checkMs, askedMin }) => {
    const plan = { agents, checks: { crm } };
    const bench = createDialerBench({ plan, startAt: "2026-06-01T15:00Z" });
    let drawn = 0;
    bench.deps.random.fraction = () => (drawn++ * 0.618_033_988_7) % 1;
    bench.check = async ({ limitMs }) => {
      await bench.sleep(Math.min(checkMs, limitMs));
      return { decision: "call" };
    };
    bench.answer = async () => {
      await bench.sleep(200);
      return { kind: "placed" };
    };
    for (let client = 0; client < 200; client++) {
      const of = { client: `client${client}` };
      await bench.send(...callsNow(bench, 5, { agent_id: "agent_sales" }, of).map(message));
    }
    await bench.simulate(20, { consumers: 10 });
    const waits: number[] = [];
    for (let round = 0; round < 6; round++) {
      const calls = callsNow(bench, 5, { agent_id: "agent_support" }, { client: "neighbour" });
      await bench.send(...calls.map(message));
      const sentAt = bench.now();
      await bench.simulate(15, { consumers: 10 });
      for (const { id } of calls) {
        const at = bench.dialed.find(({ call }) => call.id === id)?.at;
        waits.push(at === undefined ? Infinity : at - sentAt);
      }
    }
    const sorted = waits.toSorted((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length * 0.5)]).toBeLessThan(3_000);
    expect(sorted.at(-1)).toBeLessThan(15_000);
    // The check is asked at its pace, and about calls of all clients.
    expect(bench.asked.length).toBeGreaterThan(askedMin);
    const sales = bench.dialed.filter(({ call }) => call.client !== "neighbour");
    expect(new Set(sales.map(({ call }) => call.client)).size).toBeGreaterThan(sales.length / 2);
  });
});
