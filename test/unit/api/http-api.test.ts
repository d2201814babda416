import { messageSchema } from "../../../shared/ports/call-messages.ts";
import { eventMessageSchema } from "../../../shared/ports/event-messages.ts";
import { describeFuzz } from "../../contracts/fuzz-api.ts";
import { describeCallbacks } from "../../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../../contracts/http-api/guards.ts";
import { describeHttpApi } from "../../contracts/http-api/index.ts";
import { describeOperatorApi } from "../../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../../contracts/requests-api/index.ts";
import { createTestApi } from "../../support/api.ts";
import { perTier } from "../../support/per-tier.ts";

const createApi = () => {
  const { app, deps, queue, eventsQueue, ledger, documents, events } = createTestApi();
  return {
    request: async (path: string, init?: RequestInit) => app.request(path, init),
    async queued() {
      const bodies = await Promise.all(queue.take().map((one) => one.open()));
      return bodies.map((body) => messageSchema.parse(JSON.parse(body)));
    },
    async queuedEvents() {
      const bodies = await Promise.all(eventsQueue.take().map((one) => one.open()));
      return bodies.map((body) => eventMessageSchema.parse(JSON.parse(body)));
    },
    ledger: () => ledger,
    documents: () => documents,
    deadLetters: () => deps.deadLetters,
    events,
  };
};

describeHttpApi("Node, in memory", createApi);
describeGuardedClients("Node, in memory", createApi);
describeFuzz("Node, in memory", createApi, { runs: perTier({ quick: 20, slow: 200 }) });
describeOperatorApi("Node, in memory", createApi);
describeCallbacks("Node, in memory", createApi, { runs: perTier({ quick: 40, slow: 400 }) });
describeRequestsApi("Node, in memory", createApi);
