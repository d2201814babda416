import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { keepWhileUnchanged } from "./keep-while-unchanged.ts";
import { fail } from "./settings.ts";

export const configPaths = { api: "wrangler.toml", dialer: "functions/dialer/wrangler.toml" };
export type WorkerName = keyof typeof configPaths;

const root = resolve(import.meta.dirname, "../..");
/** `npm ci` removes them. */
const kept = join(root, "node_modules/.cache/outbound-calls/bundles.json");
/** All that the bundles depend on, with what their build has written. */
const inputs = [
  "{functions,shared}/**/*.*",
  "infra/{generate,cli,local}/**/*.*",
  "infra/*.json",
  "{package,package-lock,tsconfig}.json",
  "wrangler.toml",
];
const made = ["functions/api/generated"];

/**
 * Returns the bundles of both Workers, as `wrangler deploy` would upload them. Bundling takes seconds of two cores, so
 * the last bundles are used again while no file that they depend on has changed.
 *
 * @param directory where wrangler writes them
 */
export function bundleWorkers(directory: string): Promise<Record<WorkerName, string>> {
  return keepWhileUnchanged({ root, inputs, made, kept }, async () => {
    const [api, dialer] = await Promise.all([
      bundle("api", directory),
      bundle("dialer", directory),
    ]);
    return { api, dialer };
  });
}

async function bundle(name: WorkerName, directory: string): Promise<string> {
  const outdir = join(directory, name);
  await wrangler("deploy", "--dry-run", "--config", configPaths[name], "--outdir", outdir);
  return readFile(join(outdir, "cloudflare.js"), "utf8");
}

/** Runs wrangler without prompts, an account or network access. */
async function wrangler(...words: string[]): Promise<void> {
  const child = spawn("wrangler", words, {
    env: {
      ...process.env,
      CI: "1",
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_HIDE_BANNER: "true",
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((ended) => child.once("close", ended));
  if (code !== 0) fail(`wrangler ${words.join(" ")} failed:\n${output}`);
}
