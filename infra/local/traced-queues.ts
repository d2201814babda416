import {
  createServer,
  request as send,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { once } from "node:events";
import * as z from "#shared/lib/zod.ts";
import { bytesOf } from "./lambda-runtime.ts";
import { host } from "./settings.ts";

/** Name under which a message keeps the trace of the invocation that sent it. */
export const traceAttribute = "AWSTraceHeader";

const bodySchema = z.looseObject({
  Entries: z.optional(z.array(z.looseObject({}))),
});

/**
 * Serves SQS in front of a server that knows no traces: a message keeps the header `X-Amzn-Trace-Id` of its request, which the
 * SDK sets within an invocation. SQS keeps it as a system attribute
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html).
 */
export async function traceQueues(endpoint: string): Promise<{ endpoint: string; stop(): void }> {
  const server = createServer((request, response) => {
    forward(request, response, endpoint).catch((error: unknown) => {
      response.writeHead(502).end(String(error));
    });
  });
  server.keepAliveTimeout = 600_000;
  server.listen(0, host);
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    endpoint: `http://${host}:${port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  endpoint: string,
): Promise<void> {
  const body = tracedBody(request, await bytesOf(request));
  const { method, url, headers } = request;
  const forwarded = send(`${endpoint}${url}`, {
    method,
    headers: { ...headers, "content-length": body.length },
  });
  forwarded.end(body);
  const answer = await new Promise<IncomingMessage>((answered, failed) => {
    forwarded.on("response", answered).on("error", failed);
  });
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  answer.pipe(response);
}

function tracedBody({ headers }: IncomingMessage, body: Buffer): Buffer {
  const trace = headers["x-amzn-trace-id"];
  const target = String(headers["x-amz-target"]);
  if (typeof trace !== "string" || !target.startsWith("AmazonSQS.SendMessage")) return body;
  const MessageAttributes = { [traceAttribute]: { DataType: "String", StringValue: trace } };
  const message = bodySchema.parse(JSON.parse(body.toString()));
  const { Entries } = message;
  const traced =
    Entries === undefined
      ? { ...message, MessageAttributes }
      : { ...message, Entries: Entries.map((entry) => ({ ...entry, MessageAttributes })) };
  return Buffer.from(JSON.stringify(traced));
}
