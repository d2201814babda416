import dialPlan from "#infra/dial-plan.json" with { type: "json" };
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { asInvocation } from "#shared/cloudflare/invocation.ts";
import { workerLog as log } from "#shared/lib/log.ts";
import {
  answerBatch,
  createCloudflareQueue,
  readOldestSentAt,
  toCloudflareDelivery,
} from "#shared/cloudflare/queue.ts";
import { createR2Stores } from "#shared/cloudflare/r2-stores.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { randomId, randomVersion } from "#shared/lib/random.ts";
import { readApiSettings, readOperators, readTokens } from "#shared/settings/settings.ts";
import { clientRights } from "#shared/settings/tokens.ts";
import {
  withCountedBindings,
  withGatheredTokens,
  toStrings,
  type WorkerEnv,
} from "#shared/cloudflare/environment.ts";
import { createTokenLimit } from "#shared/cloudflare/token-limit.ts";
import { createApp } from "./app.ts";
import { storeDeadLetters } from "./actions/store-dead-letters.ts";
import { createQueueWatch } from "./actions/watch-queue.ts";
import { laterParts } from "./parts.ts";

export interface ApiWorkerEnv extends WorkerEnv {
  /** The files that the API serves. */
  ASSETS: Fetcher;
  /** Limit of requests for each client's token; absent unless wrangler.toml has it. */
  TOKEN_LIMIT?: RateLimit;
}

let app: ReturnType<typeof createApp> | undefined;
let watchQueue: ReturnType<typeof createQueueWatch> | undefined;

function wire(bare: ApiWorkerEnv) {
  const env = withCountedBindings(bare);
  const environment = withGatheredTokens(toStrings(env));
  return createApp({
    queue: createCloudflareQueue(env.CALLS, env.ENVELOPES),
    eventsQueue: createCloudflareQueue<EventMessage>(env.EVENTS, env.ENVELOPES),
    ledger: createD1Ledger(env.LEDGER),
    documents: createD1Documents(env.LEDGER, {
      now: Date.now,
      freshVersion: () => randomVersion(),
    }),
    ...createR2Stores(env.ENVELOPES),
    settings: readApiSettings(environment, { bundledPlan: dialPlan, kinds: routeKinds }, log),
    ...readTokens(environment, log),
    clientRights, // the Worker has the ledger anyway
    tokenLimit: createTokenLimit(env.TOKEN_LIMIT),
    operatorOf: readOperators(environment, log),
    async readServed(name) {
      const { ok, body } = await env.ASSETS.fetch(`https://assets.invalid/${name}`);
      if (!ok || body === null) throw new Error(`the assets lack ${name}`);
      return body;
    },
    parts: laterParts,
    clock: { now: Date.now },
    randomId,
    log,
  });
}

export default {
  fetch(request, env, context) {
    const api = (app ??= wire(env));
    const answer = Promise.resolve(asInvocation(() => api.fetch(request, env, context)));
    // Workers drop the work for a client that hangs up: a redial could stop between its row and its message.
    if (request.method !== "GET") context.waitUntil(answer);
    return answer;
  },
  /** Neither the dialer nor a queue can report its own death: this Worker asks, and raises the alarm. */
  async scheduled(_event, env, context) {
    const api = (app ??= wire(env));
    const request = new Request("https://api.invalid/readyz");
    watchQueue ??= createQueueWatch({
      readOldestSentAt: () => readOldestSentAt(env.CALLS),
      clock: { now: Date.now },
      log,
    });
    await Promise.all([asInvocation(() => api.fetch(request, env, context)), watchQueue()]);
  },
  /** This Worker stores the messages of the dead-letter queues, because the dialer may be dead. */
  async queue({ queue, messages }, bare) {
    const { ENVELOPES } = withCountedBindings(bare);
    const letters = messages.map((message) => ({
      ...toCloudflareDelivery(message, ENVELOPES),
      envelope: String(message.body),
    }));
    const deps = { ...createR2Stores(ENVELOPES), log };
    answerBatch(messages, await asInvocation(() => storeDeadLetters(queue, letters, deps)));
  },
} satisfies ExportedHandler<ApiWorkerEnv>;
