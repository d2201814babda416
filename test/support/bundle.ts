/**
 * Vitest's global setup of the tests of the whole service, where some run: makes both shapes' bundles once, as services that
 * start at once would each make them, and starts one browser for all tests.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleFunctions, bundleWorkers } from "#infra/local/bundles.ts";
import { serveBrowser } from "./browser.ts";

export async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!vitest.state.getPaths().some((path) => path.includes("/end-to-end/"))) return undefined;
  const browser = await serveBrowser();
  const directory = await mkdtemp(join(tmpdir(), "outbound-calls-"));
  await bundleWorkers();
  await bundleFunctions(directory);
  await rm(directory, { recursive: true });
  return () => browser.close();
}
