import { createHash } from "node:crypto";
import { createApp } from "#functions/api/app.ts";
import type { Log } from "#shared/lib/log.ts";
import type { CallQueue } from "#shared/ports/queue.ts";
import { toJson, type Message } from "#shared/ports/call-messages.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import { createTestApi } from "../support/api.ts";
import dialPlan from "#infra/dial-plan.json" with { type: "json" };

/** Bearer token that every side requires. */
export const benchToken = "oc_bench00000000000000000000000000";
export const benchTokenSha256 = createHash("sha256").update(benchToken).digest("hex");

let written = 0;
/** Makes log lines like the platforms do, and discards them: writing them costs elsewhere. */
const log: Log = (level, event, fields) => {
  written += JSON.stringify({ time: new Date().toISOString(), level, event, ...fields }).length;
};

export const benchHashKey = "5f".repeat(32);

/** Creates the API under the example dial plan, which takes callbacks here, or one changed by `plan`, over any queue. */
export function createBenchApi(
  queue: CallQueue,
  more: { plan?: object; environment?: object } = {},
) {
  const environment = {
    ...more.environment,
    API_TOKENS: JSON.stringify([{ id: "bench", sha256: benchTokenSha256 }]),
    DIAL_PLAN: JSON.stringify({ ...dialPlan, results: {}, ...more.plan }),
    HASH_KEY: benchHashKey,
    EVENTS_KEY: "e7".repeat(32),
    PUBLIC_URL: "https://calls.example.com",
  };
  return createApp({
    ...createTestApi({ environment }).deps,
    queue,
    eventsQueue: createNullQueue<EventMessage>(),
    log,
  });
}

/** Creates a queue in this process's memory. It makes the message's JSON, as every real one must, and discards it. */
export function createNullQueue<Sent = Message>(): CallQueue<Sent> & { bytes(): number } {
  let bytes = 0;
  return {
    async send(message) {
      bytes += toJson(message).length;
    },
    async sendMany(messages) {
      for (const { message } of messages) bytes += JSON.stringify(message).length;
      return messages.length;
    },
    bytes: () => bytes,
  };
}
