import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { cacheWhileUnchanged } from "./cache-while-unchanged.ts";
import type { Migration } from "./migrations.ts";
import type { BundledModule, WorkerName } from "../generate/workers.ts";

// Bundlers are imported where they are needed: they take as long to load as all else of a start.

const configPaths = { api: "wrangler.toml", dialer: "functions/dialer/wrangler.toml" };

/** A Worker as `wrangler deploy` would upload it. */
interface BundledWorker {
  modules: BundledModule[];
  /** Miniflare's options for it, which wrangler makes of its wrangler.toml. */
  options: object;
}

/** The Workers of a local run, and the migrations of their database. */
interface BundledWorkers extends Record<WorkerName, BundledWorker> {
  /** Code of the Worker that consumes a queue in the dialer's stead (pump-worker.ts). */
  pump: string;
  migrations: Migration[];
}

const root = resolve(import.meta.dirname, "../..");
/** `npm ci` removes what is cached there. */
const cache = join(root, "node_modules/.cache/outbound-calls");
/** All that the bundles depend on, with what their build has written. */
const inputs = [
  "{functions,shared}/**/*.*",
  "infra/{generate,cli,local}/**/*.*",
  "infra/aws/{bundle,start-in-one}.ts",
  "infra/*.json",
  "infra/d1/*.sql",
  "{package,package-lock,tsconfig}.json",
  "wrangler.toml",
];
const made = ["functions/api/generated"];

/**
 * Returns the bundles of both Workers, as `wrangler deploy` would upload them. Bundling takes seconds of two cores, so
 * the last bundles are used again while no file that they depend on has changed.
 */
export function bundleWorkers(): Promise<BundledWorkers> {
  const cached = join(cache, "workers.json");
  return cacheWhileUnchanged({ root, inputs, made, cached }, async () => {
    const { build } = await import("../generate/build.ts");
    await build();
    const { bundlePump } = await import("./pump-worker.ts");
    const { readMigrations } = await import("./migrations.ts");
    const [api, dialer, pump, migrations] = await Promise.all([
      bundle("api"),
      bundle("dialer"),
      bundlePump(),
      readMigrations(),
    ]);
    return { api, dialer, pump, migrations };
  });
}

/**
 * Puts the bundles of both Lambda functions into folders of `directory`, as they would be deployed, and that of what starts
 * them: Node would load 13 MB to strip its types. They are cached likewise.
 */
export async function bundleFunctions(directory: string): Promise<void> {
  const cached = join(cache, "functions.json");
  const files = await cacheWhileUnchanged({ root, inputs, made, cached }, async () => {
    const { bundleForLambda, bundleFunction, functionNames } = await import("../aws/bundle.ts");
    await Promise.all([
      ...functionNames.map((name) => bundleFunction(name, join(directory, name))),
      bundleForLambda(
        join(import.meta.dirname, "lambda-bootstrap.ts"),
        join(directory, "bootstrap"),
      ),
    ]);
    const { stop } = await import("esbuild");
    await stop(); // its process would keep 280 MB
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

async function bundle(name: WorkerName): Promise<BundledWorker> {
  const { bundleWorker } = await import("../generate/workers.ts");
  const { unstable_getMiniflareWorkerOptions: optionsOf } = await import("wrangler");
  const modules = await bundleWorker(name);
  return { modules, options: optionsOf(join(root, configPaths[name])).workerOptions };
}

/** Returns Miniflare's form of a Worker's modules. */
export function toMiniflare(modules: readonly BundledModule[]) {
  return modules.map((one) => ({ type: "ESModule" as const, ...one }));
}
