/** Our API on Node's HTTP server, over a queue that discards messages. */
import { serve } from "@hono/node-server";
import { createBenchApi, createNullQueue } from "../our-api.ts";
import { serving } from "./kit.ts";

const app = createBenchApi(createNullQueue());
const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, () => serving(server));
