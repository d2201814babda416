/**
 * Takes events of Outbound Calls. Node 22.18 or newer; `npm install standardwebhooks`.
 * EVENTS_SECRET=whsec_… PORT=8080 node event-receiver.ts
 */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env["EVENTS_SECRET"] ?? "");
/** Ids of the events that were handled. Yours belong into a database: these end with the process. */
const handled = new Set<string>();

const server = createServer((request, response) => {
  const { "content-length": length, "webhook-id": id } = request.headers;
  const answer = (status: number) => response.writeHead(status).end();
  const take = (body: string) => {
    webhook.verify(body, Object(request.headers)); // in constant time; throws where the time is off, too
    if (!handled.has(String(id))) console.log(body); // your part, in one transaction with noting the id
    handled.add(String(id));
    answer(204);
  };
  const refuse = () => answer(401); // whatever is not 2xx is tried again
  if (Number(length) <= 65_536) void text(request).then(take).catch(refuse);
  else refuse();
});
server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => console.log("ready"));
