import { createHash } from "node:crypto";
import { type ApiDeps, createApp } from "../../functions/api/app.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import type { Log } from "../../shared/log.ts";
import type { CallQueue } from "../../shared/queue/call-queue.ts";
import { randomId } from "../../shared/random-id.ts";
import { readApiSettings, readTokens } from "../../shared/settings.ts";
import dialPlan from "../dial-plan.json" with { type: "json" };

/** The bearer token that every side asks for. */
export const benchToken = "oc_bench00000000000000000000000000";
export const benchTokenSha256 = createHash("sha256").update(benchToken).digest("hex");

let written = 0;
/** Makes the log's lines as the platforms do, and lets them go: where they are written to is another's cost. */
const log: Log = (level, event, fields) => {
  written += JSON.stringify({ time: new Date().toISOString(), level, event, ...fields }).length;
};

/** The API under the example dial plan, over any queue and a ledger in memory. */
export function createBenchApi(queue: CallQueue, ledger = createMemoryLedger()) {
  const environment = {
    API_TOKENS: JSON.stringify([{ id: "bench", sha256: benchTokenSha256 }]),
    HASH_KEY: "5f".repeat(32),
  };
  const deps: ApiDeps = {
    queue,
    ledger: async () => ledger,
    settings: readApiSettings(environment, dialPlan, log),
    callerOf: readTokens(environment, log),
    clock: { now: Date.now },
    randomId,
    log,
  };
  return createApp(deps);
}

/** A queue in this process's memory: it makes the message's JSON, as every real one must, and forgets it. */
export function createNullQueue(): CallQueue & { bytes(): number } {
  let bytes = 0;
  return {
    async send(message) {
      bytes += JSON.stringify(message).length;
    },
    async sendMany(messages) {
      for (const { message } of messages) bytes += JSON.stringify(message).length;
      return messages.length;
    },
    bytes: () => bytes,
  };
}
