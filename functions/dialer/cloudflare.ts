import dialPlan from "../../infra/dial-plan.json" with { type: "json" };
import { createD1Documents } from "../../shared/documents/d1-documents.ts";
import { createR2EpochStore } from "../../shared/documents/r2-epoch-store.ts";
import { createD1Ledger } from "../../shared/ledger/d1-ledger.ts";
import { workerLog as log } from "../../shared/platform/log.ts";
import {
  createCloudflareDeadLetters,
  createCloudflareQueue,
  deliveredByCloudflare,
} from "../../shared/queue/cloudflare-queue.ts";
import type { EventMessage } from "../../shared/queue/event-messages.ts";
import { randomVersion } from "../../shared/platform/random-id.ts";
import { readDialerSettings } from "../../shared/platform/settings.ts";
import type { Send } from "../../shared/platform/send.ts";
import { stringsOf, type WorkerEnv } from "../../shared/platform/worker-env.ts";
import { connect, createDialerMemory, sweepSecondsOf, systemClock } from "./wiring.ts";
import { createHandlers, handlerFor, type Handlers } from "./handlers.ts";

/** Cloudflare ends a queue consumer after 15 minutes; the last half minute is left to acknowledge. */
const invocationMsMax = 14.5 * 60_000;
/** Cron expression of the purge, as in wrangler.toml. The other cron runs the sweep. */
const purgeCron = "30 * * * *";

let handlers: Handlers | undefined;

function wire(env: WorkerEnv): Handlers {
  const environment = stringsOf(env);
  const now = Date.now;
  const print = console.log;
  const send: Send = (url, request) => fetch(url, request);
  return createHandlers({
    queue: createCloudflareQueue(env.CALLS, env.ENVELOPES),
    eventsQueue: createCloudflareQueue<EventMessage>(env.EVENTS, env.ENVELOPES),
    ledger: createD1Ledger(env.LEDGER),
    documents: createD1Documents(env.LEDGER, now, randomVersion),
    epochStore: createR2EpochStore(env.ENVELOPES),
    deadLetters: createCloudflareDeadLetters(env.ENVELOPES),
    settings: readDialerSettings(
      environment,
      dialPlan,
      (plan) => connect({ environment, fetch: send, now, print }, plan),
      log,
    ),
    clock: systemClock,
    random: { version: randomVersion, fraction: Math.random },
    concurrency: 5, // a Worker may open six connections at once; one is left for the ledger
    sweepSeconds: sweepSecondsOf(environment),
    log,
    memory: createDialerMemory(),
  });
}

export default {
  async queue(batch, env) {
    handlers ??= wire(env);
    const delivered = batch.messages.map((message) =>
      deliveredByCloudflare(message, env.ENVELOPES),
    );
    const deadline = Date.now() + invocationMsMax;
    const answers = await handlers[handlerFor(batch.queue)](delivered, deadline);
    for (const [index, message] of batch.messages.entries()) {
      const answer = answers[index];
      if (answer === "ack") message.ack();
      else message.retry({ delaySeconds: answer?.retryAfterSeconds ?? 60 });
    }
  },
  /** Cron triggers run beside the queue, so a sweep waits behind no delivery. */
  async scheduled({ cron }, env) {
    handlers ??= wire(env);
    const run = cron === purgeCron ? handlers.purge : handlers.sweep;
    await run(Date.now() + invocationMsMax);
  },
} satisfies ExportedHandler<WorkerEnv>;
