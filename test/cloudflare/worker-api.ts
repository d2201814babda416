import { createExecutionContext } from "cloudflare:test";
import { expect } from "vitest";
import type { Delivered } from "#shared/ports/queue.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { eventMessageSchema } from "#shared/ports/event-messages.ts";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { createR2DeadLetters } from "#shared/cloudflare/r2-stores.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { testEnv } from "./env.ts";
import worker, { delivered, deliveredEvents } from "./worker.ts";

/** Takes the bodies of `count` messages or more. Those of the queue's own suite, which are no JSON, may come late: they are left out. */
async function bodiesOf(kept: Delivered[], count: number): Promise<unknown[]> {
  const bodies: unknown[] = [];
  const take = async () => {
    const texts = await Promise.all(kept.splice(0).map((one) => one.open()));
    bodies.push(
      ...texts.filter((text) => text.startsWith("{")).map((text): unknown => JSON.parse(text)),
    );
    return bodies.length;
  };
  // If nothing is expected, the wait is long enough for queued messages to arrive.
  if (count === 0) await new Promise((next) => setTimeout(next, 50)).then(take);
  else await expect.poll(take).toBeGreaterThanOrEqual(count);
  return bodies;
}

/** Creates the API as the suites take it. */
export const createApi = () => ({
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
