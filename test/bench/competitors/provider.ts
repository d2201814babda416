/** A dialing provider that places nothing: it answers 200 with an id, DELAY_MS milliseconds after a call arrives. */
import { createServer } from "node:http";
import { answer, ready } from "./side.ts";

const delayMs = Number(process.env["DELAY_MS"]);
let received = 0;
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const id = `stub_${++received}`;
    setTimeout(() => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id }));
    }, delayMs);
  });
});
// Connections must stay open between two rounds.
server.keepAliveTimeout = 120_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  ready({ port: typeof address === "object" ? address?.port : undefined });
});
answer({ received: async () => received });
