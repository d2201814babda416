/**
 * Takes events of Outbound Calls. Node 22.18 or newer; `npm install standardwebhooks`.
 * EVENTS_SECRET=whsec_… PORT=8080 node event-receiver.ts
 */
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env["EVENTS_SECRET"] ?? "");
/** Ids of the events that were handled. Yours belong into a database: these end with the process. */
const handled = new Set<string>();

async function take(request: IncomingMessage): Promise<number> {
  const entries = Object.entries(request.headers);
  const headers = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
  if (!(Number(headers["content-length"]) <= 65_536)) return 413;
  const body = await text(request);
  try {
    webhook.verify(body, headers); // in constant time; a time more than five minutes away is refused
  } catch {
    return 401;
  }
  const id = headers["webhook-id"] ?? "";
  if (!handled.has(id)) console.log(body); // your part, in one transaction with noting the id
  handled.add(id);
  return 204;
}

const server = createServer((request, response) => {
  const answer = (status: number) => response.writeHead(status).end();
  take(request).then(answer, () => answer(500));
});
server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => console.log("ready"));
