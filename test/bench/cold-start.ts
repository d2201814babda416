/** Measures a cold start: import time and size of each function, beside the smallest possible imports. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { bundleForLambda } from "#infra/aws/bundle.ts";
import { bundleForWorkers } from "#infra/generate/workers.ts";
import { workerBytes } from "./bundle-size.ts";
import { inTurns } from "./measure.ts";
import { report, table, times } from "./report.ts";

const root = resolve(import.meta.dirname, "../..");
/** Environment of a Lambda function. */
const environment = {
  QUEUE_URL: "http://127.0.0.1/queue",
  EVENTS_QUEUE_URL: "http://127.0.0.1/events",
  BUCKET: "bucket",
  TABLE: "table",
  AWS_REGION: "eu-central-1",
};
const modules = [
  { name: "Hono and its Lambda adapter", file: "test/bench/imports/hono.ts" },
  { name: "the SDK's SQS client, bare", file: "test/bench/imports/sqs-client.ts" },
  { name: "our API", file: "functions/api/lambda.ts" },
  { name: "our dialer", file: "functions/dialer/lambda.ts" },
  { name: "Express 5, BullMQ and zod", file: "test/bench/competitors/imports.ts" },
];

/** Workers, beside the smallest one. */
const workers = [
  { name: "Hono alone", file: "test/bench/imports/hono-worker.ts" },
  { name: "our API", file: "functions/api/cloudflare.ts" },
  { name: "our dialer", file: "functions/dialer/cloudflare.ts" },
];

/** Has Node evaluate what workerd has built in, which it would count as a Worker's start. */
const asWorkerd = `
  for (const name of ["async_hooks", "buffer", "crypto", "util", "zlib"]) await import("node:" + name);
  [Response, Headers, Request, CryptoKey, CompressionStream, crypto.subtle];`;

/**
 * Imports a module in a process of its own.
 *
 * @param ready statements that come before. @returns microseconds of CPU for the import
 */
async function importCost(path: string, ready = ""): Promise<number> {
  const script = `${ready}
    const before = process.cpuUsage();
    await import(${JSON.stringify(pathToFileURL(path).href)});
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(String(user + system), () => process.exit());`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "-e", script],
    { env: { ...process.env, ...environment } },
  );
  return Number(stdout);
}

/** Returns the gzipped bytes of what is evaluated at the start, and of the whole bundle. */
async function bytesOf(directory: string): Promise<{ start: number; all: number }> {
  const files = await readdir(directory);
  const texts = new Map(
    await Promise.all(
      files.map(async (file) => [file, await readFile(join(directory, file), "utf8")] as const),
    ),
  );
  const started = new Set<string>();
  const load = (file: string) => {
    if (started.has(file)) return;
    started.add(file);
    for (const [, chunk] of (texts.get(file) ?? "").matchAll(/(?:from|import)"\.\/([^"]+)"/g)) {
      if (chunk !== undefined) load(chunk);
    }
  };
  load("index.mjs");
  const size = (names: Iterable<string>) =>
    gzipSync([...names].map((file) => texts.get(file)).join("")).byteLength;
  return { start: size(started), all: size(files) };
}

const directory = await mkdtemp(join(tmpdir(), "bench-bundles-"));
const bundles = await Promise.all(
  modules.map(async ({ name, file }, index) => {
    const target = join(directory, String(index));
    await bundleForLambda(join(root, file), target);
    return { name, path: join(target, "index.mjs"), bytes: await bytesOf(target) };
  }),
);
const costs = await inTurns(
  bundles.map(({ name, path }) => ({ name, round: () => importCost(path) })),
  { count: 15 },
);
const startable = await Promise.all(
  workers.map(async ({ name, file }, index) => {
    const folder = join(directory, `worker-${index}`);
    await mkdir(folder);
    for (const { path, contents } of await bundleForWorkers(file)) {
      await writeFile(join(folder, path), contents);
    }
    return { name, path: join(folder, "index.mjs"), bytes: await workerBytes(file) };
  }),
);
const starts = await inTurns(
  startable.map(({ name, path }) => ({ name, round: () => importCost(path, asWorkerd) })),
  { count: 15 },
);
await rm(directory, { recursive: true, force: true });
const costOf = (name: string) => {
  const cost = costs.find((one) => one.name === name);
  if (cost === undefined) throw new Error(`${name} was not measured`);
  return cost;
};
const api = costOf("our API");
const clients = costOf("the SDK's SQS client, bare");
const ratio = api.median / clients.median;

const [hono, apiStart, dialerStart] = starts;
if (hono === undefined || apiStart === undefined || dialerStart === undefined) {
  throw new Error("no Worker was measured");
}
const startTarget = (what: string, most: number, { median }: typeof hono) => ({
  what: `start of ${what}'s Worker, CPU beside Hono alone`,
  target: `≤ ${most} ×`,
  measured: `${(median / hono.median).toFixed(1)} ×`,
  met: median <= most * hono.median,
});
const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;
report({
  title: "Cold start",
  text: [
    "CPU of importing each bundle in a new process, Node's own start left out; and the bundle's bytes, gzipped, of what " +
      "is evaluated at the start and of all, chunks for later included.",
    table(
      ["On Lambda", "CPU", "gzip, evaluated", "uploaded"],
      bundles.map(({ name, bytes }) => [
        name,
        times(costOf(name), clients),
        kilobytes(bytes.start),
        kilobytes(bytes.all),
      ]),
    ),
    "The same of a Worker's bundle, as `wrangler deploy` would upload it, in Node in place of workerd, without what workerd has built in:",
    table(
      ["On Workers", "CPU", "gzip, evaluated", "uploaded"],
      startable.map(({ name, bytes }, index) => [
        name,
        times(starts[index] ?? hono, hono),
        kilobytes(bytes.evaluated),
        kilobytes(bytes.uploaded),
      ]),
    ),
  ].join("\n\n"),
  targets: [
    {
      what: "cold import of the Lambda API, CPU",
      target: "≤ 1.4 × its bare SQS client",
      measured: `${ratio.toFixed(2)} ×`,
      met: ratio <= 1.4,
    },
    startTarget("the API", 17, apiStart),
    startTarget("the dialer", 10.5, dialerStart),
  ],
});
