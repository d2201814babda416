/**
 * Vitest's global setup of the tests of the whole service: makes both shapes' bundles once. Services that start at once would
 * each make them.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleFunctions, bundleWorkers } from "#infra/local/bundles.ts";

export async function setup(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "outbound-calls-"));
  await bundleWorkers();
  await bundleFunctions(directory);
  await rm(directory, { recursive: true });
}
