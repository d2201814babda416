/** Our API on Node's HTTP server, over a queue that forgets. */
import { serve } from "@hono/node-server";
import { createBenchApi, createNullQueue } from "../our-api.ts";
import { serving } from "./kit.ts";

const app = createBenchApi(createNullQueue());
/** As API Gateway and Workers answer: by itself the adapter sends an answer without a body in chunks. */
async function fetch(request: Request): Promise<Response> {
  const response = await app.fetch(request);
  response.headers.set("content-length", "0");
  return response;
}
const server = serve({ fetch, hostname: "127.0.0.1", port: 0 }, () => serving(server));
