import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  /** Id in the body, if the body is a call. */
  id: string;
  at: number;
}

/** Starts an HTTP server that keeps every request, byte for byte, and gives the answers of `answer`. */
export async function startReceiver(
  answer: (request: Received, response: ServerResponse, received: Received[]) => void,
) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const { method = "", url: path = "", headers } = request;
      const one = { method, path, headers, text, id: idIn(text), at: Date.now() };
      received.push(one);
      answer(one, response, received);
    });
  });
  // A connection that closes as it is used again makes a call's outcome unknown.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a pipe
  const { port } = server.address() as AddressInfo;
  return {
    received,
    url: `http://127.0.0.1:${port}`,
    to: (path: string) => received.filter((one) => one.path === path),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Starts a webhook that takes each call, after `answerMs` milliseconds. */
export const startSlowProvider = (answerMs: number) =>
  startReceiver((_request, response) => {
    const body = JSON.stringify({ id: "stub" });
    const head = { "content-type": "application/json" };
    setTimeout(() => response.writeHead(200, head).end(body), answerMs);
  });

function idIn(text: string): string {
  try {
    const body: { id?: unknown } = JSON.parse(text);
    return typeof body.id === "string" ? body.id : "";
  } catch {
    return "";
  }
}
