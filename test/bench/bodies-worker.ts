/** The API over stores in memory and a queue that keeps nothing, as the only thing in its workerd. */
import { createTestApi } from "../support/api.ts";
import { createApp } from "#functions/api/app.ts";

const { deps } = createTestApi();
const queue = { ...deps.queue, send: async () => undefined };
const app = createApp({ ...deps, queue, log: () => undefined });

export default { fetch: (request: Request) => app.fetch(request) };
