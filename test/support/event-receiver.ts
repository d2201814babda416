import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

/**
 * A receiver of events as a process of its own, which a test kills: `node event-receiver.ts PORT FILE SECRET`. It
 * verifies each event with the library of Standard Webhooks, writes it down, and answers only then.
 */
const [port, file = "", secret = ""] = process.argv.slice(2);
const webhook = new Webhook(secret);

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    const header = (name: string) => String(request.headers[name] ?? "");
    try {
      webhook.verify(body, {
        "webhook-id": header("webhook-id"),
        "webhook-timestamp": header("webhook-timestamp"),
        "webhook-signature": header("webhook-signature"),
      });
    } catch {
      response.writeHead(401).end();
      return;
    }
    appendFileSync(file, `${JSON.stringify({ id: header("webhook-id"), body })}\n`);
    response.writeHead(204).end();
  });
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
