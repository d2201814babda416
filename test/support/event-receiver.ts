import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { verifyEvent } from "#infra/client/index.ts";

/**
 * A receiver of events as a process of its own, which a test kills: `node event-receiver.ts PORT FILE SECRET`. It
 * verifies each event with the client library, writes it down, and answers only then.
 */
const [port, file = "", secret = ""] = process.argv.slice(2);

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    let id: string;
    try {
      ({ id } = verifyEvent(request.headers, body, secret));
    } catch {
      response.writeHead(401).end();
      return;
    }
    appendFileSync(file, `${JSON.stringify({ id, body })}\n`);
    response.writeHead(204).end();
  });
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
