import { createServer } from "node:http";
import { asyncPayloadBytesMax, bytesOf, type LocalFunction } from "./lambda-runtime.ts";
import { host } from "./settings.ts";

/** Lambda's endpoint for asynchronous invocations, on this machine. */
export interface InvokeEndpoint {
  url: string;
  add(name: string, invoked: LocalFunction): void;
  stop(): void;
}

/**
 * Starts Lambda's API of invocations (2015-03-31), as far as the service uses it: an event is taken with 202, and its
 * function runs meanwhile.
 */
export async function startInvokeEndpoint(): Promise<InvokeEndpoint> {
  const functions = new Map<string, LocalFunction>();
  const server = createServer((request, response) => {
    const [, name = ""] =
      /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(request.url ?? "") ?? [];
    const invoked = functions.get(decodeURIComponent(name));
    const isEvent = request.headers["x-amz-invocation-type"] === "Event";
    if (request.method !== "POST" || invoked === undefined || !isEvent) {
      response.writeHead(404).end();
      return;
    }
    void bytesOf(request).then((body) => {
      if (body.length > asyncPayloadBytesMax) {
        response.writeHead(413, { "x-amzn-errortype": "RequestTooLargeException" }).end();
        return undefined;
      }
      response.writeHead(202).end();
      // A process that dies fails its invocation, which nobody waits for.
      return invoked.invoke(JSON.parse(body.toString())).catch(() => undefined);
    });
  });
  await new Promise<void>((listening) => server.listen(0, host, listening));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `http://${host}:${port}`,
    add: (name, invoked) => void functions.set(name, invoked),
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
