import { type ApiDeps, createApp } from "../../functions/api/app.ts";
import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import { createMemoryQueue } from "../../shared/queue/memory-queue.ts";
import { randomId } from "../../shared/random-id.ts";
import { readApiSettings, readOperators, readTokens } from "../../shared/settings.ts";
import { apiEnvironment } from "./environment.ts";

/** The API over a queue in memory, and a ledger there too, unless another one is given. */
export function createTestApi(
  more: {
    environment?: Record<string, string | undefined>;
    ledger?: CallLedger;
    now?: () => number;
  } = {},
) {
  const { environment = apiEnvironment, ledger = createMemoryLedger(), now = Date.now } = more;
  const events: object[] = [];
  const log: ApiDeps["log"] = (level, event, fields) => events.push({ level, event, ...fields });
  const queue = createMemoryQueue(Date.now);
  const deps: ApiDeps = {
    queue,
    ledger: async () => ledger,
    settings: readApiSettings(environment, {}, log),
    callerOf: readTokens(environment, log),
    operatorOf: readOperators(environment, log),
    clock: { now },
    randomId,
    log,
  };
  return { deps, queue, ledger, events, app: createApp(deps) };
}
