import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import { callsNow, message, webhook } from "#test/support/dialer-calls.ts";

const names = ["crm", "consent", "score"];
const agents = { agent_sales: { ...webhook, checks: names }, agent_support: webhook };
const lowPace = { requestsPerSecond: 0.5 };
const slow = { timeoutSeconds: 10 };

describe("calls of many clients that wait for checks", () => {
  it.each([
    { how: "with a low pace", clients: 200, each: 5, check: lowPace, checkMs: 0 },
    { how: "with a low pace", clients: 20, each: 50, check: lowPace, checkMs: 0 },
    { how: "that are slow", clients: 200, each: 5, check: slow, checkMs: 9_900 },
  ])("$how, $clients clients, do not stop the account's others", async (of) => {
    const { clients, each, check, checkMs } = of;
    const checks = Object.fromEntries(
      names.map((name) => [name, { url: `http://127.0.0.1:9/${name}`, ...check }]),
    );
    const bench = createDialerBench({ plan: { agents, checks }, startAt: "2026-06-01T15:00Z" });
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
    for (let client = 0; client < clients; client++) {
      const by = { client: `client${client}` };
      await bench.send(...callsNow(bench, each, { agent_id: "agent_sales" }, by).map(message));
    }
    await bench.simulate(5, { consumers: 10 });
    const waits: number[] = [];
    for (let round = 0; round < 3; round++) {
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
    // The checks are asked about calls of all clients.
    const sales = bench.dialed.filter(({ call }) => call.client !== "neighbour");
    expect(sales.length).toBeGreaterThan(5);
    const least = Math.min(clients, sales.length) / 3;
    expect(new Set(sales.map(({ call }) => call.client)).size).toBeGreaterThan(least);
  });
});
