import { randomBytes } from "node:crypto";
import { createApp } from "../../functions/api/app.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import { messageSchema } from "../../shared/message.ts";
import { createMemoryQueue } from "../../shared/queue/memory-queue.ts";
import { readApiSettings, readOperators, readTokens } from "../../shared/settings.ts";
import { describeHttpApi } from "../contracts/http-api.ts";
import { describeOperatorApi } from "../contracts/operator-api.ts";
import { apiEnvironment } from "../support/environment.ts";

const createApi = () => {
  const log = () => undefined;
  const queue = createMemoryQueue(Date.now);
  const ledger = createMemoryLedger();
  const app = createApp({
    queue,
    ledger: async () => ledger,
    settings: readApiSettings(apiEnvironment, {}, log),
    callerOf: readTokens(apiEnvironment, log),
    operatorOf: readOperators(apiEnvironment, log),
    clock: { now: Date.now },
    randomId: () => randomBytes(16).toString("hex"),
    log,
  });
  return {
    request: async (path: string, init?: RequestInit) => app.request(path, init),
    async queued() {
      const bodies = await Promise.all(queue.take().map((one) => one.open()));
      return bodies.map((body) => messageSchema.parse(body));
    },
    ledger: () => ledger,
  };
};

describeHttpApi("Node, in memory", createApi);
describeOperatorApi("Node, in memory", createApi);
