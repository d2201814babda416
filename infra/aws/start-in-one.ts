import { basename } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { type BundledModule, startOf } from "../generate/workers.ts";

/** Entry of the one module: it exports all that the start's modules export. */
const all = "./all.mjs";

/**
 * Makes one module of those that a start evaluates, and lets the later ones import from it. Node takes half a millisecond of
 * CPU for each module that it loads, and esbuild makes a chunk of whatever some later modules share with the start.
 *
 * @param exportsOf names that each module exports
 * @param options settings of the modules' own build, and a banner
 */
export async function startInOne(
  modules: readonly BundledModule[],
  exportsOf: ReadonlyMap<string, readonly string[]>,
  options: BuildOptions,
): Promise<BundledModule[]> {
  const start = startOf(modules).map(({ path }) => `./${path}`);
  const later = modules.map(({ path }) => `./${path}`).filter((path) => !start.includes(path));
  const contents = new Map(modules.map(({ path, contents: text }) => [`./${path}`, text]));
  /** Names of a module's exports, each with its name in the one module, where other modules have the same. */
  const namesOf = (path: string) =>
    (exportsOf.get(basename(path)) ?? []).map((name) => [name, `of${start.indexOf(path)}_${name}`]);
  const renamed = (path: string) =>
    namesOf(path)
      .map(([name, inAll]) => `${name} as ${inAll}`)
      .join();
  const original = (path: string) =>
    namesOf(path)
      .map(([name, inAll]) => `${inAll} as ${name}`)
      .join();
  const chunks = start.filter((path) => path !== "./index.mjs");
  contents.set(
    all,
    ['export * from "./index.mjs";']
      .concat(chunks.map((path) => `export { ${renamed(path)} } from "${path}";`))
      .join("\n"),
  );

  /** Builds modules again. What they import of the start is bundled, or taken from the one module. */
  async function rebuild(entryPoints: Record<string, string>, isStart: boolean) {
    const plugin: Plugin = {
      name: "start-in-one",
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^\.\// }, ({ path, kind, namespace }) => {
          if (kind === "entry-point") return { path, namespace: "module" };
          if (!start.includes(path) || namespace === "from-all") return { path, external: true };
          return { path, namespace: isStart ? "module" : "from-all" };
        });
        onLoad({ filter: /./, namespace: "module" }, ({ path }) => ({
          contents: contents.get(path) ?? "",
        }));
        onLoad({ filter: /./, namespace: "from-all" }, ({ path }) => ({
          contents: `export { ${original(path)} } from "./index.mjs";`,
        }));
      },
    };
    const { outputFiles } = await build({
      ...options,
      entryPoints,
      splitting: false,
      write: false,
      plugins: [plugin],
    });
    return outputFiles.map(({ path, text }) => ({ path: basename(path), contents: text }));
  }
  const named = (path: string) => [basename(path, ".mjs"), path];
  return [
    ...(await rebuild({ index: all }, true)),
    ...(await rebuild(Object.fromEntries(later.map(named)), false)),
  ];
}
