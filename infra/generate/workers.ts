/**
 * Bundles the Workers as they are uploaded: a module that each start evaluates, and chunks beside it that are evaluated by
 * what needs them. wrangler would make one module of all, and evaluate it at each start.
 */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";
import { printHelp } from "../cli/help.ts";
import { build as buildGenerated } from "./build.ts";
import { withoutDescriptions } from "./without-descriptions.ts";

const root = resolve(import.meta.dirname, "../..");
export const workerNames = ["api", "dialer"] as const;
export type WorkerName = (typeof workerNames)[number];

/** A module of a bundle. */
export interface BundledModule {
  /** Name of its file, by which other modules import it. */
  path: string;
  contents: string;
}

/** Settings of the bundles of both platforms. Names of functions are not kept: `errorForLog` names the place in the bundle. */
export const bundling = {
  bundle: true,
  splitting: true,
  minify: true,
  sourcemap: false,
  format: "esm" as const,
  outExtension: { ".js": ".mjs" },
  legalComments: "none" as const,
  logLevel: "error" as const,
  plugins: [withoutDescriptions],
} satisfies BuildOptions;

/** Returns the modules of a function's Worker, that of its entry first. The API's generated files must be built. */
export function bundleWorker(name: WorkerName): Promise<BundledModule[]> {
  return bundleForWorkers(`functions/${name}/cloudflare.ts`);
}

/** Bundles any module with the settings of the Workers' bundles. */
export async function bundleForWorkers(
  entryPoint: string,
  { plugins = [] }: { plugins?: Plugin[] } = {},
): Promise<BundledModule[]> {
  const { build } = await import("esbuild"); // takes as long to load as all else of a local start
  const { outputFiles } = await build({
    ...bundling,
    entryPoints: { index: resolve(root, entryPoint) },
    outdir: root, // nothing is written
    write: false,
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["node:*", "cloudflare:*"],
    plugins: [...plugins, ...bundling.plugins],
  });
  const modules = outputFiles.map(({ path, text }) => ({ path: basename(path), contents: text }));
  return reachedIn(modules);
}

/** Returns the modules of a bundle that its start evaluates: the entry's, and those that it imports at once. */
export function startOf(modules: readonly BundledModule[]): BundledModule[] {
  return reachedIn(modules, /(?:from|import)"\.\/([^"]+)"/g);
}

/**
 * Returns the entry's module, and those that it reaches by such imports. esbuild also makes chunks for imports in code
 * that it has left out.
 */
export function reachedIn(
  modules: readonly BundledModule[],
  imports: RegExp = /(?:from|import\(?)"\.\/([^"]+)"/g,
): BundledModule[] {
  const reached = new Set(modules.filter(({ path }) => path === "index.mjs"));
  for (const { contents } of reached) {
    const imported = new Set([...contents.matchAll(imports)].map(([, path]) => path));
    for (const one of modules.filter(({ path }) => imported.has(path))) reached.add(one);
  }
  return [...reached];
}

/** Writes a Worker's modules where its wrangler.toml names them. Those of an older build have other names and are deleted. */
async function writeWorker(name: WorkerName): Promise<void> {
  const directory = join(root, "dist/workers", name);
  const modules = await bundleWorker(name);
  await mkdir(directory, { recursive: true });
  const isGone = (file: string) => modules.every(({ path }) => path !== file);
  const gone = (await readdir(directory)).filter(isGone);
  await Promise.all([
    ...modules.map(({ path, contents }) => writeFile(join(directory, path), contents)),
    ...gone.map((file) => rm(join(directory, file), { force: true })),
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  printHelp(`npm run build:workers

Writes the modules of both Workers, as they are uploaded, into dist/workers. wrangler runs it before it uploads.`);
  await buildGenerated();
  for (const name of workerNames) await writeWorker(name);
}
