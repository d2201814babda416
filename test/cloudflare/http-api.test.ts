import { createExecutionContext } from "cloudflare:test";
import { expect } from "vitest";
import type { Delivered } from "../../shared/ports/queue.ts";
import { messageSchema } from "../../shared/ports/call-messages.ts";
import { eventMessageSchema } from "../../shared/ports/event-messages.ts";
import { createD1Documents } from "../../shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "../../shared/cloudflare/d1-ledger.ts";
import { createR2DeadLetters } from "../../shared/cloudflare/r2-dead-letters.ts";
import { randomVersion } from "../../shared/lib/random.ts";
import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../contracts/http-api/guards.ts";
import { describeHttpApi } from "../contracts/http-api/index.ts";
import { describeReadiness } from "../contracts/http-api/readiness.ts";
import { describeOperatorApi } from "../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../contracts/requests-api/index.ts";
import { testEnv } from "./env.ts";
import worker, { delivered, deliveredEvents } from "./worker.ts";

async function bodiesOf(kept: Delivered[], count: number): Promise<unknown[]> {
  // If nothing is expected, the wait is long enough for queued messages to arrive.
  if (count === 0) await new Promise((next) => setTimeout(next, 50));
  else await expect.poll(() => kept.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(count);
  const bodies = await Promise.all(kept.splice(0).map((one) => one.open()));
  return bodies.map((body) => JSON.parse(body) as unknown);
}

const createApi = () => ({
  request: async (path: string, init?: RequestInit) =>
    worker.fetch(
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the runtime fills in `cf`
      new Request(`https://api.test${path}`, init) as Request<unknown, IncomingRequestCfProperties>,
      testEnv,
      createExecutionContext(),
    ),
  queued: async (count: number) =>
    (await bodiesOf(delivered, count)).map((body) => messageSchema.parse(body)),
  queuedEvents: async (count: number) =>
    (await bodiesOf(deliveredEvents, count)).map((body) => eventMessageSchema.parse(body)),
  ledger: () => createD1Ledger(testEnv.LEDGER),
  deadLetters: () => createR2DeadLetters(testEnv.ENVELOPES),
  documents: () =>
    createD1Documents(testEnv.LEDGER, { now: Date.now, freshVersion: () => randomVersion() }),
});

describeHttpApi("Cloudflare Workers", createApi);
describeGuardedClients("Cloudflare Workers", createApi);
describeFuzz("Cloudflare Workers", createApi, { runs: 80 });
describeOperatorApi("Cloudflare Workers", createApi);
describeCallbacks("Cloudflare Workers", createApi, { runs: 150 });
describeRequestsApi("Cloudflare Workers", createApi);
describeReadiness("Cloudflare Workers", createApi);
