import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { typeNames } from "../../shared/providers/index.ts";
import { report } from "./report.ts";

const root = resolve(import.meta.dirname, "../..");
/** All but what the smallest dialer has: a webhook, and the simulator of `npm start`. */
const adapters = typeNames.filter((name) => name !== "webhook" && name !== "simulator");

/** Leaves the adapters out, and with them what they alone import. */
const withoutAdapters: Plugin = {
  name: "without-adapters",
  setup({ onLoad }) {
    const filter = new RegExp(`shared/providers/(${adapters.join("|")})\\.ts$`);
    onLoad({ filter }, ({ path }) => {
      const [, name = ""] = filter.exec(path) ?? [];
      return { contents: `export const ${name} = { name: "${name}" };` };
    });
  },
};

/** Gzipped bytes of a function's Worker, bundled as wrangler bundles it. */
export async function workerBytes(
  entryPoint: string,
  { plugins = [] }: { plugins?: Plugin[] } = {},
): Promise<number> {
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
  return gzipSync(outputFiles[0]?.contents ?? "").byteLength;
}

/** By how many gzipped bytes all adapters together make the dialer's Worker larger. */
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
