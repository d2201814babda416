/**
 * `npm start`: the API and the dialer in workerd on this machine, with D1, Queues and R2 beside them. It
 * needs no account and no network. It runs the bundles that `wrangler deploy` would upload, in one Miniflare
 * instead of `wrangler dev`, which reloads when a file changes and so empties the local queue
 * (docs/decisions/0001-local-run.md).
 */
import { join } from "node:path";
import { inspect } from "node:util";
import type { WorkerName } from "../generate/workers.ts";
import { bundleWorkers, toMiniflare } from "./bundles.ts";
import { endChildrenWithProcess } from "./end-children.ts";
import { applyMigrations } from "./migrations.ts";
import { openPort } from "./open-port.ts";
import { type ConsumerSettings, pumpWorker } from "./pump-worker.ts";
import { host, readLocalSettings, stopAtSignal, sweepSeconds } from "./settings.ts";
import { printHelp } from "../cli/help.ts";
import { complain, print } from "../cli/print.ts";

printHelp(`npm start

Runs the API and the dialer in workerd on this machine, with D1, Queues and R2. Needs no account and no network; nobody is
phoned, unless the variables name another dial plan. Ends at Ctrl-C. docs/quickstart.md

Environment: PORT (8787), STATE_DIR, DIAL_PLAN, API_TOKENS, OPERATOR_TOKENS, HASH_KEY, EVENTS_KEY, PUBLIC_URL, the
providers' secrets; PROVIDER_STANDINS=true dials stand-ins of the providers.`);

/** Deliveries of the call queue and of the events queue at once, as `max_concurrency` in the dialer's wrangler.toml. */
const consumersMax = 50;
const eventsConsumersMax = 20;
/** Interval at which a dispatcher is started; it ends at once if another one beats. On Cloudflare it is a minute. */
const dispatchSeconds = 2;

const settings = await readLocalSettings({ port: 8787, stateDirectory: ".state" });
const { port, stateDirectory, environment } = settings;

// Loaded once the settings are right: it takes longer than all before it.
const { convertV4MiniflareOptions, Log, LogLevel, Miniflare } = await import("miniflare");
const workers = await bundleWorkers();
const callQueue = "outbound-calls";
const eventsQueue = "outbound-calls-events";
/** The consumers of the dialer's queues, without those of calls and events, which are pumps. */
const {
  [callQueue]: callConsumer = {},
  [eventsQueue]: eventsConsumer = {},
  ...otherConsumers
} = consumersOf(workers.dialer.options);
const worker = (name: WorkerName) => ({
  ...workers[name].options,
  ...(name === "dialer" ? { queueConsumers: otherConsumers } : {}),
  name,
  modules: toMiniflare(workers[name].modules),
  bindings: environment,
});

const pump = (queue: string, limits: ConsumerSettings & { consumersMax: number }) =>
  pumpWorker(queue, { ...limits, code: workers.pump, consumer: "dialer" });

/** Returns the settings of a Worker's consumers by the names of their queues. */
function consumersOf(options: object): Record<string, ConsumerSettings> {
  const consumers: unknown = "queueConsumers" in options ? options.queueConsumers : undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- wrangler makes it so of wrangler.toml
  return (consumers ?? {}) as Record<string, ConsumerSettings>;
}

endChildrenWithProcess();
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    host,
    // A port that nobody knows: `openPort` opens the service's own once everything stands.
    port: 0,
    cf: false,
    log: new Log(LogLevel.WARN),
    logRequests: false,
    telemetry: { enabled: false },
    resourcePersistencePath: join(stateDirectory, "v3"),
    handleStructuredLogs: ({ message }) => print(message),
    workers: [
      worker("api"),
      worker("dialer"),
      pump(callQueue, { ...callConsumer, consumersMax }),
      pump(eventsQueue, { ...eventsConsumer, consumersMax: eventsConsumersMax }),
    ],
  }),
);

let clock: NodeJS.Timeout | undefined;
let dispatchClock: NodeJS.Timeout | undefined;
let upkeepClock: NodeJS.Timeout | undefined;
stopAtSignal(async () => {
  clearInterval(clock);
  clearInterval(dispatchClock);
  clearInterval(upkeepClock);
  clock = undefined;
  await miniflare.dispose();
});

await miniflare.ready;
// The first use of a database or Worker from here blocks this process until it answers. Requests meanwhile could fill the
// pipe of workerd's output, which nobody reads then, and both would wait for each other forever.
await applyMigrations(await miniflare.getD1Database("LEDGER", "api"), workers.migrations);
const dialerWorker = await miniflare.getWorker("dialer");
const tick = (cron: string) =>
  dialerWorker.scheduled({ cron }).catch((error: unknown) => {
    if (clock !== undefined) complain(`The clock failed: ${inspect(error)}`);
  });
clock = setInterval(() => void tick("* * * * *"), sweepSeconds * 1000);
void tick("* * * * *");
dispatchClock = setInterval(() => void tick("*/1 * * * *"), dispatchSeconds * 1000);
void tick("*/1 * * * *");
upkeepClock = setInterval(() => void tick("0-59 * * * *"), sweepSeconds * 1000);
void tick("0-59 * * * *");
await openPort(port, () => miniflare.ready);
print(settings.readyBlock(`http://${host}:${port}`));
