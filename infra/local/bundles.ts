import { spawn } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { stop as stopEsbuild } from "esbuild";
import { bundleFunction, functionNames } from "../aws/bundle.ts";
import { keepWhileUnchanged } from "./keep-while-unchanged.ts";
import { fail } from "./settings.ts";

export const configPaths = { api: "wrangler.toml", dialer: "functions/dialer/wrangler.toml" };
export type WorkerName = keyof typeof configPaths;

const root = resolve(import.meta.dirname, "../..");
/** `npm ci` removes what is kept there. */
const cache = join(root, "node_modules/.cache/outbound-calls");
/** All that the bundles depend on, with what their build has written. */
const inputs = [
  "{functions,shared}/**/*.*",
  "infra/{generate,cli,local}/**/*.*",
  "infra/aws/bundle.ts",
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
  const kept = join(cache, "workers.json");
  return keepWhileUnchanged({ root, inputs, made, kept }, async () => {
    const [api, dialer] = await Promise.all([
      bundle("api", directory),
      bundle("dialer", directory),
    ]);
    return { api, dialer };
  });
}

/** Puts the bundles of both Lambda functions into folders of `directory`, as they would be deployed; kept likewise. */
export async function bundleFunctions(directory: string): Promise<void> {
  const kept = join(cache, "functions.json");
  const files = await keepWhileUnchanged({ root, inputs, made, kept }, async () => {
    await Promise.all(functionNames.map((name) => bundleFunction(name, join(directory, name))));
    await stopEsbuild(); // its process would keep 280 MB
    return readAll(directory);
  });
  await Promise.all(
    Object.entries(files).map(async ([path, base64]) => {
      const file = join(directory, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, Buffer.from(base64, "base64"));
    }),
  );
}

/** Reads all files of a folder, in base64 by their paths in it. */
async function readAll(directory: string): Promise<Record<string, string>> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  return Object.fromEntries(
    await Promise.all(
      files.map(async (file) => [relative(directory, file), await readFile(file, "base64")]),
    ),
  );
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
