/**
 * `npm start`: the API and the dialer in workerd on this machine, with D1, Queues and R2 beside them. No
 * account and no network. It runs the bundles that `wrangler deploy` would upload, in one Miniflare instead
 * of `wrangler dev`: that reloads when a file changes, and a reload empties the local queue
 * (infra/decisions/0001-local-run.md).
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from "wrangler";
import { missingSecrets, parseDialPlan } from "../../shared/dial-plan.ts";
import { createToken, parseTokens } from "../../shared/tokens.ts";
import localPlan from "./dial-plan.json" with { type: "json" };

const host = "127.0.0.1";
/** How often the sweep's clock ticks here; on Cloudflare it is once a minute. */
const sweepSeconds = 5;
const stopMsMax = 4_000;
const configPaths = { api: "wrangler.toml", dialer: "functions/dialer/wrangler.toml" };

const port = Number(process.env["PORT"] ?? 8787);
const stateDirectory = resolve(process.env["STATE_DIR"] ?? ".state");

/** Ends with one line that says what to do. */
function fail(line: string): never {
  console.error(line);
  process.exit(1);
}

async function refuseTakenPort(): Promise<void> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) fail("PORT must be 1 to 65535.");
  await new Promise<void>((free) => {
    const probe = createServer()
      .once("error", () => fail(`Port ${port} is taken: set PORT to another one.`))
      .once("listening", () => probe.close(() => free()))
      .listen(port, host);
  });
}

/** Kept in the state folder, so that hashes of numbers mean the same after a restart. */
async function hashKeyOfState(): Promise<string> {
  const path = join(stateDirectory, "hash-key");
  await writeFile(path, randomBytes(32).toString("hex"), { flag: "wx", mode: 0o600 }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    },
  );
  return (await readFile(path, "utf8")).trim();
}

/** The Workers' variables and secrets: everything in the environment, and what is missing from it. */
async function workerEnvironment() {
  const given = process.env;
  const environment: Record<string, string> = {
    DIAL_PLAN: JSON.stringify(localPlan),
    HASH_KEY: given["HASH_KEY"] ?? (await hashKeyOfState()),
    SWEEP_SECONDS: String(sweepSeconds),
    ALLOW_SIMULATOR: "true",
  };
  let token: string | undefined;
  if (given["API_TOKENS"] === undefined) {
    const created = createToken();
    token = created.token;
    environment["API_TOKENS"] = JSON.stringify([{ id: "local", sha256: created.sha256 }]);
  }
  for (const name of ["API_TOKENS", "DIAL_PLAN"]) {
    const value = given[name];
    if (value !== undefined && value !== "") environment[name] = value;
  }
  try {
    parseTokens(environment["API_TOKENS"] ?? "");
  } catch (error) {
    fail(error instanceof Error ? error.message : "API_TOKENS is unreadable.");
  }
  try {
    const plan = parseDialPlan(undefined, environment);
    const missing = missingSecrets(plan, given);
    if (missing.length > 0) fail(`The dial plan needs ${missing.join(", ")} in the environment.`);
    const secrets = missingSecrets(plan, {});
    for (const name of secrets) environment[name] = given[name] ?? "";
  } catch (error) {
    fail(error instanceof Error ? error.message : "The dial plan is unreadable.");
  }
  return { environment, token };
}

/** Runs wrangler without a prompt, an account or a word to the network. */
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

async function bundle(name: keyof typeof configPaths): Promise<string> {
  const directory = join(stateDirectory, "build", name);
  await wrangler("deploy", "--dry-run", "--config", configPaths[name], "--outdir", directory);
  return readFile(join(directory, "cloudflare.js"), "utf8");
}

await refuseTakenPort();
await mkdir(stateDirectory, { recursive: true });
const { environment, token } = await workerEnvironment();
const [api, dialer] = await Promise.all([
  bundle("api"),
  bundle("dialer"),
  wrangler("d1", "migrations", "apply", "LEDGER", "--local", "--persist-to", stateDirectory),
]);

const worker = (name: keyof typeof configPaths, contents: string) => ({
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
    // What the Workers print, as they print it.
    handleStructuredLogs: ({ message }) => console.log(message),
    workers: [worker("api", api), worker("dialer", dialer)],
  }),
);

let stopping = false;
let clock: NodeJS.Timeout | undefined;
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  clearInterval(clock);
  setTimeout(() => process.exit(0), stopMsMax).unref();
  await miniflare.dispose();
  process.exit(0);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => void stop());

await miniflare.ready;
const apiWorker = await miniflare.getWorker("api");
const tick = () =>
  apiWorker.scheduled({ cron: "* * * * *" }).catch((error: unknown) => {
    if (!stopping) console.error("The sweep's clock failed:", error);
  });
clock = setInterval(() => void tick(), sweepSeconds * 1000);
await tick();

const address = `http://${host}:${port}`;
const route = environment["DIAL_PLAN"] === JSON.stringify(localPlan) ? "simulator" : "DIAL_PLAN";
console.log(`
Outbound Calls is ready at ${address} (dialing: ${route}; state: ${stateDirectory})
Token: ${token ?? "one of API_TOKENS"}

curl -i ${address}/v1/calls -H "Authorization: Bearer ${token ?? "$TOKEN"}" -H "Content-Type: application/json" -d '{"phone_number": "+12025550123", "agent_id": "agent_1"}'
`);
