import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { afterEach, expect, it, vi } from "vitest";
import { type BundledModule, bundleForWorkers } from "#infra/generate/workers.ts";
import { toMiniflare } from "#infra/local/bundles.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";
import { largeBatches } from "#test/support/large-batches.ts";

/** Heap that the isolate may have, of young and old objects: half of a Worker's memory. */
const heapMiBMax = 64;

const workers: Miniflare[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const worker of workers.splice(0)) await worker.dispose();
});

/** Starts a Worker in a workerd whose heap is limited, and returns what posts a batch to it. */
async function start(modules: BundledModule[]): Promise<(body: string) => Promise<number>> {
  vi.stubEnv("MINIFLARE_WORKERD_V8_FLAGS", `--max-heap-size=${heapMiBMax}`);
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      modules: toMiniflare(modules),
      compatibilityDate: "2026-06-01",
      compatibilityFlags: ["nodejs_compat"],
      log: new Log(LogLevel.NONE),
      handleRuntimeStdio: () => undefined,
    }),
  );
  workers.push(worker);
  const url = new URL("/v1/calls/batch", await worker.ready);
  return async (body) => {
    const response = await fetch(
      url,
      jsonRequest(tokens.crm, "POST", new TextEncoder().encode(body)),
    );
    await response.arrayBuffer();
    return response.status;
  };
}

it("answers the largest batches in a workerd that has half of a Worker's memory", async () => {
  const post = await start(await bundleForWorkers("test/bench/bodies-worker.ts"));
  for (const [name, bodyOf] of Object.entries(largeBatches)) {
    const status = await post(bodyOf(1)).catch(() => 0);
    expect([name, status]).toEqual([name, name.startsWith("right: ") ? 201 : 422]);
  }
});

it("kills a workerd that takes more than half of a Worker's memory, so the limit is real", async () => {
  const contents = `const kept = [];
    export default {
      async fetch(request) {
        const text = await request.text();
        for (let n = 0; n < 4; n++) kept.push(JSON.parse(text));
        return new Response(null, { status: kept.length > 0 ? 422 : 400 });
      },
    };`;
  const post = await start([{ path: "index.mjs", contents }]);
  const nested = largeBatches["two million arrays, one in another"]?.(1) ?? "";
  await expect(post(nested)).rejects.toThrow("fetch failed");
});
