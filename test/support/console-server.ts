import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { createTestApi } from "./api.ts";

type TestApi = ReturnType<typeof createTestApi>;

/** The API over a ledger in memory, behind a port of this machine: for a browser that looks at the operator's page. */
export interface ConsoleServer {
  address: string;
  api: TestApi;
  stop(): Promise<void>;
}

/** @param api made by `createTestApi` */
export async function startConsoleServer(api: TestApi): Promise<ConsoleServer> {
  const server = createServer((request, response) => void answer(api, request, response));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const bound = server.address();
  const port = typeof bound === "object" ? bound?.port : undefined;
  return {
    address: `http://127.0.0.1:${port}`,
    api,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function answer(api: TestApi, request: IncomingMessage, response: ServerResponse) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const { method = "GET", url = "/" } = request;
  const answered = await api.app.request(url, {
    method,
    headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
  });
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  response.end(Buffer.from(await answered.arrayBuffer()));
}
