import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { errorsMax } from "#shared/calls/call-request.ts";
import { answerBytesMax } from "#test/contracts/hostile-requests.ts";
import type { FedApi } from "#test/support/hostile-feed.ts";

/** Heap limit: half of a Worker's memory. Two million nested arrays would take 128 MiB once they are parsed. */
const heapMiBMax = 64;
/** Tolerated growth by the runtime's own compilation and caches. A single leaked body would be more. */
const growthBytesMax = 1024 * 1024;

it("answers the worst of bodies within its memory, briefly, and keeps nothing of them", async () => {
  const directory = await mkdtemp(join(tmpdir(), "outbound-calls-"));
  try {
    // The program is bundled, as when deployed: stripping types would take most of the heap.
    const program = join(directory, "feed.mjs");
    await build({
      entryPoints: [resolve("test/support/hostile-feed.ts")],
      outfile: program,
      bundle: true,
      format: "esm",
      platform: "node",
    });
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--expose-gc",
      `--max-old-space-size=${heapMiBMax}`,
      program,
    ]);
    const { answers, heapBytes }: FedApi = JSON.parse(stdout);
    expect(Object.keys(answers).length).toBeGreaterThan(20);
    for (const [name, { status, bytes, errors }] of Object.entries(answers)) {
      expect([name, status]).toEqual([name, name.startsWith("right: ") ? 201 : 422]);
      expect(errors, name).toBeLessThanOrEqual(errorsMax);
      expect(bytes, name).toBeLessThan(answerBytesMax);
    }
    const [first = 0] = heapBytes;
    expect((heapBytes.at(-1) ?? 0) - first, `heaps of ${heapBytes.join()}`).toBeLessThan(
      growthBytesMax,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
