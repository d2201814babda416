import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { typeNames } from "#shared/calls/provider-types.ts";
import { report } from "./report.ts";

const root = resolve(import.meta.dirname, "../..");
/** All adapters except those of the smallest dialer: the webhook, and the simulator of `npm start`. */
const adapters = typeNames.filter((name) => name !== "webhook" && name !== "simulator");

/** Omits the adapters' files, with the forms of their routes, and the modules that they alone import. */
const withoutAdapters: Plugin = {
  name: "without-adapters",
  setup({ onLoad }) {
    const filter = new RegExp(`shared/providers/(${adapters.join("|")})\\.ts$`);
    onLoad({ filter }, ({ path }) => {
      const [, name = ""] = filter.exec(path) ?? [];
      const exported = name.replaceAll(/-[a-z]/g, (part) => part.slice(1).toUpperCase());
      const routes = `export const ${exported}Routes = { name: "${name}" };`;
      return { contents: `${routes} export const ${exported} = { create() {} };` };
    });
  },
};

/** Returns a function's Worker, bundled like wrangler does. */
export async function workerText(
  entryPoint: string,
  { plugins = [] }: { plugins?: Plugin[] } = {},
): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(root, entryPoint)],
    bundle: true,
    minify: true,
    keepNames: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["node:*", "cloudflare:*"],
    write: false,
    logLevel: "error",
    plugins,
  });
  return outputFiles[0]?.text ?? "";
}

/** Returns the gzipped size of a function's Worker in bytes. */
export async function workerBytes(
  entryPoint: string,
  options: { plugins?: Plugin[] } = {},
): Promise<number> {
  return gzipSync(await workerText(entryPoint, options)).byteLength;
}

/** Returns the gzipped size of the dialer's Worker in bytes, with and without all adapters. */
export async function adapterGrowthBytes(): Promise<{ with: number; without: number }> {
  const dialer = "functions/dialer/cloudflare.ts";
  const without = await workerBytes(dialer, { plugins: [withoutAdapters] });
  return { with: await workerBytes(dialer), without };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bytes = await adapterGrowthBytes();
  const growth = bytes.with - bytes.without;
  report({
    title: "Dialing providers in the bundle",
    text: `${adapters.join(", ")} together make the dialer's Worker ${growth.toLocaleString("en")} B larger, gzipped: ${bytes.with.toLocaleString("en")} B with them.`,
    targets: [],
  });
}
