import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { build } from "esbuild";
import { build as buildGenerated } from "../generate/build.ts";
import { bundling, reachedIn } from "../generate/workers.ts";
import { startInOne } from "./start-in-one.ts";

const root = resolve(import.meta.dirname, "../..");
export const functionNames = ["api", "dialer"] as const;
export type FunctionName = (typeof functionNames)[number];

/**
 * Bundles a Lambda function into `directory`/index.mjs, with chunks beside it for modules that only some
 * requests load. The SDK is bundled: pinned, and no slower than the one in the image. The API's generated files are built first,
 * and those that it serves are put beside the handler.
 */
export async function bundleFunction(name: FunctionName, directory: string): Promise<void> {
  if (name === "api") await buildGenerated();
  await bundleForLambda(resolve(root, `functions/${name}/lambda.ts`), directory);
  if (name !== "api") return;
  const beside = "generated/served";
  await cp(resolve(root, "functions/api", beside), resolve(directory, beside), { recursive: true });
}

/** Bundles any module with the settings of the functions' bundles. */
export async function bundleForLambda(entryPoint: string, directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true }); // chunks of an older build have other names
  await mkdir(directory, { recursive: true });
  const options = {
    ...bundling,
    outdir: directory,
    platform: "node" as const,
    target: "node24",
    mainFields: ["module", "main"],
  };
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: { index: entryPoint },
    write: false,
    metafile: true,
  });
  const modules = outputFiles.map(({ path, text }) => ({ path: basename(path), contents: text }));
  const exportsOf = new Map(
    Object.entries(metafile.outputs).map(([path, { exports }]) => [basename(path), exports]),
  );
  const merged = await startInOne(reachedIn(modules), exportsOf, {
    ...options,
    // Some parts of the SDK are CommonJS and require Node's own modules.
    banner: {
      js: "import{createRequire as __banner_cr}from'node:module';const require=__banner_cr(import.meta.url);",
    },
  });
  await Promise.all(merged.map(({ path, contents }) => writeFile(join(directory, path), contents)));
}
