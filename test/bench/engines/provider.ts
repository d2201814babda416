/**
 * The dialing provider of the race, which all engines call alike. It phones whoever a request names, at once,
 * and answers 5 to 250 ms later; a client that is gone by then changes nothing. Each person's times are the
 * same in every run. While it hangs it answers nothing, and phones the person of every second request;
 * when the hang ends it closes the connections on which it hung. While it is busy it answers 429 and phones nobody.
 */
import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { answer, ready } from "../competitors/side.ts";

type Mode = "well" | "hangs" | "busy";
let mode: Mode = "well";
const phoned: [person: string, at: number][] = [];
const refused: number[] = [];
/** Number of requests so far, by person. */
const requests = new Map<string, number>();
const hung = new Set<ServerResponse>();

/** Returns a number from 0 to 1 for a person's nth request. */
function fixed(person: string, nth: number, what: string): number {
  return (
    createHash("sha256").update(`21:${person}:${nth}:${what}`).digest().readUInt32BE() / 2 ** 32
  );
}

function serve(person: string, response: ServerResponse): void {
  const nth = (requests.get(person) ?? 0) + 1;
  requests.set(person, nth);
  const at = Date.now();
  if (mode === "busy") {
    refused.push(at);
    response.writeHead(429, { "content-type": "application/json" }).end("{}");
    return;
  }
  if (mode === "hangs") {
    hung.add(response);
    if (fixed(person, nth, "phoned") < 0.5) phoned.push([person, at]);
    return;
  }
  phoned.push([person, at]);
  setTimeout(
    () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: `stub_${person}_${nth}` }));
    },
    5 + 245 * fixed(person, nth, "answer"),
  );
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () =>
    serve(JSON.parse(Buffer.concat(chunks).toString()).phone_number, response),
  );
});
server.keepAliveTimeout = 120_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  ready({ port: typeof address === "object" ? address?.port : undefined });
});
answer({
  async mode(message) {
    mode = Object(message).mode;
    for (const response of hung) response.destroy();
    hung.clear();
  },
  phoned: async () => ({ phoned, refused }),
});
