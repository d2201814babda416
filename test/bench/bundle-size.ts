import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Plugin } from "esbuild";
import {
  type BundledModule,
  bundleForWorkers,
  startOf,
  workerNames,
} from "#infra/generate/workers.ts";
import { plannedTypes } from "#shared/calls/provider-types.ts";
import { report, table } from "./report.ts";

/** All adapters except those of the smallest dialer: the webhook, and the simulator of `npm start`. */
const adapters = plannedTypes.filter((name) => name !== "webhook" && name !== "simulator");

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

/** Returns the text of all modules of a Worker, in the order in which they are uploaded. */
export async function workerText(
  entryPoint: string,
  options: { plugins?: Plugin[] } = {},
): Promise<string> {
  return textOf(await bundleForWorkers(entryPoint, options));
}

const textOf = (modules: readonly BundledModule[]) =>
  modules.map(({ contents }) => contents).join("");

/** Returns the gzipped bytes of a Worker: of all modules, and of those that a start evaluates. */
export async function workerBytes(
  entryPoint: string,
  options: { plugins?: Plugin[] } = {},
): Promise<{ uploaded: number; evaluated: number }> {
  const modules = await bundleForWorkers(entryPoint, options);
  const bytesOf = (some: readonly BundledModule[]) => gzipSync(textOf(some)).byteLength;
  return { uploaded: bytesOf(modules), evaluated: bytesOf(startOf(modules)) };
}

/** Returns the gzipped size of the dialer's Worker in bytes, with and without all adapters. */
export async function adapterGrowthBytes(): Promise<{ with: number; without: number }> {
  const dialer = "functions/dialer/cloudflare.ts";
  const without = await workerBytes(dialer, { plugins: [withoutAdapters] });
  return { with: (await workerBytes(dialer)).uploaded, without: without.uploaded };
}

/**
 * Maximum gzipped KiB of each Worker: of what is uploaded, and of what is evaluated before it answers a POST or dials a call. Four
 * of the dialer's are for splits, four and one of the API's for call-backs; five and one for traces; half a one
 * of the dialer's for paces above what a machine can do, and half a one for opt-outs and calls of former plans; one, and half
 * a one of the API's, for promised calls that go ahead, keys of made tokens, and names that logs leave out; half a one of both
 * for what later versions store; half a one of the dialer's for callbacks about refused calls; half a one of both for
 * queues that deliver nothing, and phones with two country codes; half a one of the dialer's for the counts of calls that
 * were dialed after all; half a one of both for what calls of a batch share, and for permits that are used late; one of the
 * dialer's for callbacks about calls that have ended or were dialed again; half a one of the API's for changes of clients and
 * receivers at the same moment as another, or by a token that has ended; one of the dialer's for rows that keep no places of
 * others, and for what proves an answer.
 */
export const kibibytesMax = {
  api: { uploaded: 168, evaluated: 100 },
  dialer: { uploaded: 196, evaluated: 150 },
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const growth = await adapterGrowthBytes();
  const sizes = await Promise.all(
    workerNames.map(async (name) => {
      return { name, bytes: await workerBytes(`functions/${name}/cloudflare.ts`) };
    }),
  );
  const kibibytes = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
  report({
    title: "Size of the Workers",
    text: [
      table(
        ["gzip", "uploaded", "evaluated at a start"],
        sizes.map(({ name, bytes }) => [
          name,
          kibibytes(bytes.uploaded),
          kibibytes(bytes.evaluated),
        ]),
      ),
      "A start evaluates what a POST with any token needs, and what a delivery of calls does. " +
        `The adapters ${adapters.join(", ")} are ${kibibytes(growth.with - growth.without)} of the dialer's.`,
    ].join("\n\n"),
    targets: sizes.flatMap(({ name, bytes }) =>
      (["uploaded", "evaluated"] as const).map((part) => ({
        what: `${name}'s Worker, ${part}`,
        target: `≤ ${kibibytesMax[name][part]} KiB`,
        measured: kibibytes(bytes[part]),
        met: bytes[part] <= kibibytesMax[name][part] * 1024,
      })),
    ),
  });
}
