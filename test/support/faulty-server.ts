import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** Faults of the network between a client and the service, for one request. */
export const faults = [
  "none",
  "cut before", // it does not reach the service
  "cut after", // the service has answered, and the answer is lost
  "cut within", // the client gets the beginning of the answer
  "503 before",
  "503 after",
  "429 before",
  "hang after", // the answer is never sent on
] as const;
/** A token that is refused in between is no fault of the network. */
export type Fault = (typeof faults)[number] | "401 before";

/** Starts a server that hands requests to the service, through a network that fails as `nextFault` says. */
export async function startFaultyServer(
  serve: (request: Request) => Promise<Response>,
  nextFault: (headers: IncomingHttpHeaders) => Fault,
) {
  const server = createServer((request, response) => {
    void handle(request, response).catch(() => response.destroy());
  });
  async function handle(request: IncomingMessage, response: ServerResponse) {
    const fault = nextFault(request.headers);
    const chunks: Buffer[] = await request.toArray();
    if (fault === "cut before") return response.destroy();
    if (fault === "503 before" || fault === "429 before" || fault === "401 before") {
      return response.writeHead(Number(fault.slice(0, 3)), { "retry-after": "0" }).end();
    }
    const answer = await serve(toRequest(request, Buffer.concat(chunks)));
    const body = Buffer.from(await answer.arrayBuffer());
    switch (fault) {
      case "cut after":
        return response.destroy();
      case "cut within":
        return response.socket?.end(`HTTP/1.1 ${answer.status} `);
      case "503 after":
        return response.writeHead(503).end();
      case "hang after":
        return undefined;
      case "none":
        return response.writeHead(answer.status, passedOn(answer.headers)).end(body);
    }
  }
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a pipe
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Returns the headers of an answer but those of its coding, as `fetch` has undone that. */
function passedOn(headers: Headers): Record<string, string> {
  const entries = [...headers].filter(
    ([name]) => !/^(content|transfer)-(encoding|length)$/.test(name),
  );
  return Object.fromEntries(entries);
}

function toRequest({ method = "", url = "", headers }: IncomingMessage, body: Buffer): Request {
  const passed = Object.entries(headers).filter(
    ([name]) => !/^(host|connection|transfer-encoding|content-length|expect)$/.test(name),
  );
  const texts = passed.map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(`http://service${url}`, {
    method,
    headers: texts,
    ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
  });
}
