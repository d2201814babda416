import { describe, expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import { createBaseApp } from "#functions/api/http/base-app.ts";
import { serveReadiness } from "#functions/api/http/readiness.ts";
import { createTestApi } from "#test/support/api.ts";
import { putHeartbeats } from "#test/support/heartbeats.ts";

const startAt = Date.parse("2026-06-01T10:00Z");
const minute = 60_000;

/** Creates an API under a clock that the test moves, which counts the reads of documents. */
function createBench(environment?: Record<string, string | undefined>) {
  let now = startAt;
  let reads = 0;
  const api = createTestApi({ now: () => now, ...(environment && { environment }) });
  const { documents } = api;
  const counted = {
    ...documents,
    async read(...keys: Parameters<typeof documents.read>) {
      reads += 1;
      return bench.read(...keys);
    },
  };
  const app = createApp({ ...api.deps, documents: counted });
  const bench = {
    documents,
    read: documents.read,
    advance: (ms: number) => (now += ms),
    reads: () => reads,
    beat: () => putHeartbeats(documents, now),
    ask: async () => app.request("/readyz"),
    status: async () => (await app.request("/readyz")).status,
    alarms: () => api.events.filter((one) => "event" in one && one.event === "service.not_ready"),
  };
  return bench;
}

describe("GET /readyz", () => {
  it("shows a monitor whether the dialer works, and nothing else", async () => {
    const bench = createBench();
    await bench.beat();
    const ready = await bench.ask();
    expect([ready.status, await ready.text()]).toEqual([200, "ready\n"]);
    bench.advance(5 * minute + 1);
    const dead = await bench.ask();
    expect([dead.status, await dead.text()]).toEqual([503, "not ready\n"]);
    expect(dead.headers.get("retry-after")).toBe("30");
    for (const { headers } of [ready, dead]) expect(headers.get("cache-control")).toBe("no-store");
    await bench.beat();
    bench.advance(5_000);
    expect(await bench.status()).toBe(200);
  });

  it("reads the ledger once in five seconds, however many ask", async () => {
    const bench = createBench();
    await bench.beat();
    const all = await Promise.all(Array.from({ length: 200 }, bench.status));
    expect(new Set(all)).toEqual(new Set([200]));
    expect(bench.reads()).toBe(1);
    bench.advance(4_999);
    await bench.status();
    expect(bench.reads()).toBe(1);
    bench.advance(1);
    await Promise.all(Array.from({ length: 200 }, bench.status));
    expect(bench.reads()).toBe(2);
  });

  it("is 503 where the ledger cannot be read, which is asked no more often", async () => {
    const bench = createBench();
    await bench.beat();
    bench.read = () => Promise.reject(new Error("+12025550123"));
    expect(await Promise.all([bench.status(), bench.status()])).toEqual([503, 503]);
    expect(bench.reads()).toBe(1);
    expect(bench.alarms()).toMatchObject([{ problem: expect.stringContaining("ledger") }]);
    expect(JSON.stringify(bench.alarms())).not.toContain("2025550123");
    bench.read = bench.documents.read;
    bench.advance(5_000);
    expect(await bench.status()).toBe(200);
  });

  it("is 503 in a new deployment until its first sweep and look, and 200 then", async () => {
    const bench = createBench();
    expect(await bench.status()).toBe(503);
    await bench.beat();
    bench.advance(5_000);
    expect(await bench.status()).toBe(200);
  });

  it("is 503 where the settings are wrong, as nothing is accepted", async () => {
    const bench = createBench({});
    await bench.beat();
    expect(await bench.status()).toBe(503);
    expect(bench.reads()).toBe(0);
  });

  it("raises the alarm at most once in five minutes, with what is wrong", async () => {
    const bench = createBench();
    await bench.beat();
    bench.advance(6 * minute);
    await bench.status();
    await bench.status();
    const problem =
      "no sweep has completed for five minutes; no dispatcher has looked for five minutes";
    const alarm = { level: "alarm", event: "service.not_ready", problem };
    expect(bench.alarms()).toEqual([alarm]);
    bench.advance(5 * minute - 1);
    await bench.status();
    expect(bench.alarms()).toHaveLength(1);
    bench.advance(1);
    await bench.status();
    expect(bench.alarms()).toEqual([alarm, alarm]);
  });

  it("does not wait for ever for a read whose probe has hung up, and then reads once for all", async () => {
    // Without the API's own time limits: on Workers the timers of a request end with it.
    const { deps, documents } = createTestApi();
    await putHeartbeats(documents, Date.now());
    let reads = 0;
    const read: typeof documents.read = (keys) => {
      reads += 1;
      return reads === 1 ? new Promise(() => undefined) : documents.read(keys);
    };
    const app = createBaseApp(deps);
    serveReadiness(app, { isConfigured: true }, { ...deps, documents: { ...documents, read } });
    void app.request("/readyz");
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await app.request("/readyz")).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(reads).toBe(2);
  });
});
