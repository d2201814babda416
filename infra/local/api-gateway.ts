import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { bytesOf, type LocalFunction } from "./lambda-runtime.ts";
import { fail, host } from "./settings.ts";

/** The named stage beside `$default`. */
const stageName = "prod";
/** API Gateway's own limit. A larger body is answered 413. */
const bodyBytesMax = 10 * 1024 * 1024;

interface HttpAnswer {
  statusCode: number;
  headers?: Record<string, string>;
  body?: string;
  isBase64Encoded?: boolean;
}

/**
 * Starts an HTTP API in front of a function, with payload 2.0: the default stage at the root, and the stage
 * `prod` under its name, which API Gateway leaves in the path that the function receives. Its port opens once the
 * function has been loaded and has answered. Ends the process with one clear line if the port is taken.
 */
export async function startApiGateway(
  port: number,
  api: LocalFunction,
): Promise<{ stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    serve(request, response, api).catch(() => {
      response.writeHead(500, { "content-type": "application/json" });
      response.end('{"message":"Internal Server Error"}');
    });
  });
  await api.invoke(
    eventOf({ method: "GET", url: "/healthz", headersDistinct: {} }, Buffer.alloc(0)),
  );
  await new Promise<void>((open) => {
    server.once("error", () => fail(`Port ${port} is taken: set PORT to another one.`));
    server.listen(port, host, open);
  });
  return {
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  api: LocalFunction,
): Promise<void> {
  const body = await bytesOf(request);
  if (body.length > bodyBytesMax) {
    response.writeHead(413, { "content-type": "application/json" });
    response.end('{"message":"Request Entity Too Large"}');
    return;
  }
  const answer = await api.invoke(eventOf(request, body));
  if (!isHttpAnswer(answer)) throw new Error("the function's answer is not an HTTP answer");
  response.writeHead(answer.statusCode, answer.headers);
  response.end(Buffer.from(answer.body ?? "", answer.isBase64Encoded ? "base64" : "utf8"));
}

function eventOf(
  request: Pick<IncomingMessage, "method" | "url" | "headersDistinct">,
  body: Buffer,
) {
  const { pathname, search } = new URL(request.url ?? "/", "http://localhost");
  const stage = `${pathname}/`.startsWith(`/${stageName}/`) ? stageName : "$default";
  const text = body.toString();
  const isText = Buffer.from(text).equals(body);
  const method = request.method ?? "GET";
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: Object.fromEntries(
      // `headers` would leave out the second Authorization. API Gateway joins headers of one name by a comma.
      Object.entries(request.headersDistinct).map(([name, values]) => [name, String(values)]),
    ),
    requestContext: {
      accountId: "000000000000",
      apiId: "local",
      domainName: "localhost",
      domainPrefix: "local",
      http: {
        method,
        path: pathname,
        protocol: "HTTP/1.1",
        sourceIp: host,
        userAgent: request.headersDistinct["user-agent"]?.[0] ?? "",
      },
      requestId: "local",
      routeKey: "$default",
      stage,
      time: new Date().toISOString(),
      timeEpoch: Date.now(),
    },
    body: body.length === 0 ? null : body.toString(isText ? "utf8" : "base64"),
    isBase64Encoded: !isText,
  };
}

function isHttpAnswer(answer: unknown): answer is HttpAnswer {
  return typeof answer === "object" && answer !== null && "statusCode" in answer;
}
