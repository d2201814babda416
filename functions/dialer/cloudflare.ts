import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { asInvocation, sendBySubrequest, statementsLeft } from "#shared/cloudflare/invocation.ts";
import { createD1Size } from "#shared/cloudflare/d1-size.ts";
import { workerLog as log } from "#shared/lib/log.ts";
import {
  answerBatch,
  createCloudflareQueue,
  toCloudflareDelivery,
} from "#shared/cloudflare/queue.ts";
import { createR2Stores } from "#shared/cloudflare/r2-stores.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { readDialerSettings } from "#shared/settings/settings.ts";
import { toStrings, withCountedBindings, type WorkerEnv } from "#shared/cloudflare/environment.ts";
import { createDialerMemory } from "./runtime/memory.ts";
import { connect, sweepSecondsOf, systemClock } from "./wiring.ts";
import { createHandlers, handlerFor, type Handlers } from "./handlers.ts";
import { minuteMs } from "#shared/lib/units.ts";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };

/** Cloudflare ends a queue consumer after 15 minutes. The last half minute is for acknowledging. */
const invocationMsMax = 14.5 * minuteMs;
/** Cron expressions of dispatcher and upkeep, as in wrangler.toml. Any other runs the sweep. */
const dispatchCron = "*/1 * * * *";
const upkeepCron = "0-59 * * * *";
/** Default number of concurrent deliveries of the call queue, as in wrangler.toml. */
const consumersDefault = 50;

const runs: ReadonlyMap<string, "dispatch" | "upkeep"> = new Map([
  [dispatchCron, "dispatch"],
  [upkeepCron, "upkeep"],
]);

let handlers: Handlers | undefined;

function wire(bare: WorkerEnv): Handlers {
  const env = withCountedBindings(bare);
  const environment = toStrings(env);
  const now = Date.now;
  const print = console.log;
  return createHandlers({
    queue: createCloudflareQueue(env.CALLS, env.ENVELOPES),
    eventsQueue: createCloudflareQueue<EventMessage>(env.EVENTS, env.ENVELOPES),
    ledger: createD1Ledger(env.LEDGER),
    ledgerSize: createD1Size(env.LEDGER),
    documents: createD1Documents(env.LEDGER, { now, freshVersion: randomVersion }),
    ...createR2Stores(env.ENVELOPES),
    settings: readDialerSettings(
      environment,
      {
        bundledPlan: dialPlan,
        kinds: routeKinds,
        connect: (plan) => connect({ environment, fetch: sendBySubrequest, now, print }, plan),
      },
      log,
    ),
    clock: systemClock,
    random: { version: randomVersion, fraction: Math.random },
    concurrency: 5, // a Worker may open six connections at once; one is left for the ledger
    consumers: Number(environment["CONSUMERS"]) || consumersDefault,
    statementsLeft,
    sharesStatements: true,
    // The next cron starts the next dispatcher.
    dispatcher: { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: false },
    sweepSeconds: sweepSecondsOf(environment),
    log,
    memory: createDialerMemory(),
  });
}

export default {
  async queue(batch, env) {
    handlers ??= wire(env);
    const { ENVELOPES } = withCountedBindings(env);
    const delivered = batch.messages.map((message) => toCloudflareDelivery(message, ENVELOPES));
    const deadline = Date.now() + invocationMsMax;
    const handle = handlers[handlerFor(batch.queue)];
    answerBatch(batch.messages, await asInvocation(() => handle(delivered, deadline)));
  },
  /** Cron triggers run beside the queue, so that dispatchers and sweeps wait for no delivery. */
  async scheduled({ cron }, env) {
    handlers ??= wire(env);
    const run = handlers[runs.get(cron) ?? "sweep"];
    await asInvocation(() => run(Date.now() + invocationMsMax));
  },
} satisfies ExportedHandler<WorkerEnv>;
