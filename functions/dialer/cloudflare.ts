import dialPlan from "../../infra/dial-plan.json" with { type: "json" };
import { createD1Ledger } from "../../shared/ledger/d1-ledger.ts";
import { consoleLog as log } from "../../shared/log.ts";
import { createProviders } from "../../shared/providers/index.ts";
import {
  createCloudflareQueue,
  deliveredByCloudflare,
} from "../../shared/queue/cloudflare-queue.ts";
import { randomId } from "../../shared/random-id.ts";
import { readDialerSettings } from "../../shared/settings.ts";
import { stringsOf, type WorkerEnv } from "../../shared/worker-env.ts";
import { handleDeadLetters } from "./dead-letters.ts";
import { type DialerDeps, systemClock } from "./dialer.ts";
import { handleDelivery } from "./handle-delivery.ts";

/** A queue consumer may run for 15 minutes; the last half is left to acknowledge. */
const invocationMsMax = 14.5 * 60_000;

let deps: DialerDeps | undefined;

function wire(env: WorkerEnv): DialerDeps {
  const environment = stringsOf(env);
  const now = Date.now;
  const print = console.log;
  const send: typeof fetch = (input, init) => fetch(input, init);
  return {
    queue: createCloudflareQueue(env.CALLS, env.ENVELOPES),
    ledger: createD1Ledger(env.LEDGER),
    settings: readDialerSettings(
      environment,
      dialPlan,
      (routes) => createProviders({ environment, fetch: send, now, print }, routes),
      log,
    ),
    clock: systemClock,
    random: { token: randomId, fraction: Math.random },
    lanes: 5, // a Worker opens six connections at once; one is left for the ledger
    log,
  };
}

export default {
  async queue(batch, env) {
    deps ??= wire(env);
    const delivered = batch.messages.map((message) =>
      deliveredByCloudflare(message, env.ENVELOPES),
    );
    const dispositions = batch.queue.endsWith("-dead")
      ? await handleDeadLetters(delivered, deps)
      : await handleDelivery(delivered, deps, Date.now() + invocationMsMax);
    for (const [index, message] of batch.messages.entries()) {
      const disposition = dispositions[index];
      if (disposition === "acknowledge") message.ack();
      else message.retry({ delaySeconds: disposition?.retryAfterSeconds ?? 60 });
    }
  },
} satisfies ExportedHandler<WorkerEnv>;
