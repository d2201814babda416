/** The client libraries as they are published: packed, and installed without a registry into an empty project. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type * as Library from "#infra/client/index.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../..");
const typescriptFolder = join(root, "infra/client");
const pythonFolder = join(root, "infra/client-python");

/** Packages that the TypeScript library and its dependencies import. */
const importedPackages = [
  "openapi-fetch",
  "openapi-typescript-helpers",
  "standardwebhooks",
  "@stablelib",
  "fast-sha256",
];

/** Creates an empty project with the packed TypeScript library installed. */
export async function installTypescript(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "outbound-calls-packed-"));
  // Packing builds `dist`, so each packs a copy: others pack at the same time.
  const copy = join(folder, "source");
  const filter = (source: string) => !["node_modules", "dist"].includes(basename(source));
  await cp(typescriptFolder, copy, { recursive: true, filter });
  await symlink(join(typescriptFolder, "node_modules"), join(copy, "node_modules"));
  await run("npm", ["pack", "--pack-destination", folder], { cwd: copy });
  const archive = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
  await mkdir(join(folder, "node_modules"));
  await run("tar", ["-xzf", archive, "-C", "node_modules"], { cwd: folder });
  const installed = ["node_modules/package", "node_modules/outbound-calls-client"];
  await run("mv", installed, { cwd: folder });
  for (const name of importedPackages) {
    await symlink(join(typescriptFolder, "node_modules", name), join(folder, "node_modules", name));
  }
  await writeFile(join(folder, "package.json"), '{"type": "module"}');
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

/** Imports the packed library of a project. */
export async function importPacked(folder: string): Promise<typeof Library> {
  const entry = join(folder, "node_modules/outbound-calls-client/dist/index.js");
  return import(pathToFileURL(entry).href);
}

/** Builds the wheel of the Python package, and installs it beside a Python. */
export async function installPython(
  python = "python3",
): Promise<{ folder: string; sources: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "outbound-calls-wheel-"));
  const options = ["--quiet", "--no-deps", "--no-index", "--wheel-dir", folder];
  await run("python3", ["-m", "pip", "wheel", ...options, pythonFolder]);
  const wheel = (await readdir(folder)).find((name) => name.endsWith(".whl")) ?? "";
  const sources = join(folder, "site");
  const install = ["install", "--quiet", "--no-deps", "--no-index", "--target", sources];
  await run(python, ["-m", "pip", ...install, join(folder, wheel)]);
  return { folder, sources, remove: () => rm(folder, { recursive: true }) };
}
