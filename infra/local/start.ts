/**
 * `npm start`: the API and the dialer in workerd on this machine, with D1, Queues and R2 beside them. It
 * needs no account and no network. It runs the bundles that `wrangler deploy` would upload, in one Miniflare
 * instead of `wrangler dev`, which reloads when a file changes and so empties the local queue
 * (docs/decisions/0001-local-run.md).
 */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from "wrangler";
import { fail, host, readLocalSettings, stopAtSignal, sweepSeconds } from "./settings.ts";

const configPaths = { api: "wrangler.toml", dialer: "functions/dialer/wrangler.toml" };
type WorkerName = keyof typeof configPaths;

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

const settings = await readLocalSettings({ port: 8787, stateDirectory: ".state" });
const { port, stateDirectory, environment } = settings;

async function bundle(name: WorkerName): Promise<string> {
  const directory = join(stateDirectory, "build", name);
  await wrangler("deploy", "--dry-run", "--config", configPaths[name], "--outdir", directory);
  return readFile(join(directory, "cloudflare.js"), "utf8");
}

const [api, dialer] = await Promise.all([
  bundle("api"),
  bundle("dialer"),
  wrangler("d1", "migrations", "apply", "LEDGER", "--local", "--persist-to", stateDirectory),
]);
const worker = (name: WorkerName, contents: string) => ({
  ...workerOptionsOf(configPaths[name]).workerOptions,
  name,
  modules: [{ type: "ESModule" as const, path: "cloudflare.js", contents }],
  bindings: environment,
});
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    host,
    port,
    cf: false,
    log: new Log(LogLevel.WARN),
    logRequests: false,
    telemetry: { enabled: false },
    resourcePersistencePath: join(stateDirectory, "v3"),
    // Output of the Workers is passed on unchanged.
    handleStructuredLogs: ({ message }) => console.log(message),
    workers: [worker("api", api), worker("dialer", dialer)],
  }),
);

let clock: NodeJS.Timeout | undefined;
let purgeClock: NodeJS.Timeout | undefined;
stopAtSignal(async () => {
  clearInterval(clock);
  clearInterval(purgeClock);
  clock = undefined;
  await miniflare.dispose();
});

await miniflare.ready;
const dialerWorker = await miniflare.getWorker("dialer");
const tick = (cron: string) =>
  dialerWorker.scheduled({ cron }).catch((error: unknown) => {
    if (clock !== undefined) console.error("The clock failed:", error);
  });
clock = setInterval(() => void tick("* * * * *"), sweepSeconds * 1000);
void tick("* * * * *"); // rows that waited when the last run ended have lost their messages
purgeClock = setInterval(() => void tick("30 * * * *"), 3_600_000);
console.log(settings.readyBlock(`http://${host}:${port}`));
