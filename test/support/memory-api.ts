import { messageSchema } from "#shared/ports/call-messages.ts";
import { eventMessageSchema } from "#shared/ports/event-messages.ts";
import { createTestApi } from "./api.ts";

/** Creates the API in this process, in memory, as the contracts of its routes take it. */
export function createMemoryApi() {
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
}
