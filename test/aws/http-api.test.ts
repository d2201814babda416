import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import type { LambdaEvent } from "hono/aws-lambda";
import { afterAll, beforeAll } from "vitest";
import { type AwsEngines, startAwsEngines } from "../../infra/local/aws-engines.ts";
import type { handler as lambdaHandler } from "../../functions/api/lambda.ts";
import { eventMessageSchema } from "../../shared/ports/event-messages.ts";
import { messageSchema } from "../../shared/ports/call-messages.ts";
import { toSqsDelivery } from "../../shared/aws/sqs-queue.ts";
import { createDynamoDocuments } from "../../shared/aws/dynamodb-documents.ts";
import { createDynamoLedger } from "../../shared/aws/dynamodb-ledger.ts";
import { createS3DeadLetters } from "../../shared/aws/s3-dead-letters.ts";
import { randomVersion } from "../../shared/lib/random.ts";
import { describeFuzz } from "../contracts/fuzz-api.ts";
import { describeCallbacks } from "../contracts/http-api/callbacks.ts";
import { describeGuardedClients } from "../contracts/http-api/guards.ts";
import { describeHttpApi } from "../contracts/http-api/index.ts";
import { describeReadiness } from "../contracts/http-api/readiness.ts";
import { describeOperatorApi } from "../contracts/operator-api/index.ts";
import { describeRequestsApi } from "../contracts/requests-api/index.ts";
import { apiEnvironment } from "../support/environment.ts";

const bucket = "outbound-calls";
let engines: AwsEngines;
let queueUrl: string;
let eventsQueueUrl: string;
let handler: typeof lambdaHandler;

beforeAll(async () => {
  engines = await startAwsEngines();
  await engines.createBucket(bucket);
  await engines.createTable("ledger");
  queueUrl = await engines.createQueue("calls");
  eventsQueueUrl = await engines.createQueue("calls-events");
  Object.assign(process.env, apiEnvironment, {
    ...engines.variables,
    QUEUE_URL: queueUrl,
    EVENTS_QUEUE_URL: eventsQueueUrl,
    BUCKET: bucket,
    TABLE: "ledger",
  });
  ({ handler } = await import("../../functions/api/lambda.ts"));
});
afterAll(() => engines.stop());

/** Takes the bodies of all messages of a queue, once there are `count`. */
async function bodiesOn(url: string, count: number): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let empty = 0; empty < (found.length < count ? 50 : 1);) {
    const { Messages = [] } = await engines.sqs.send(
      new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10 }),
    );
    empty = Messages.length === 0 ? empty + 1 : 0;
    for (const { MessageId: messageId = "", Body = "", ReceiptHandle } of Messages) {
      const record = { messageId, body: Body, attributes: { ApproximateReceiveCount: "1" } };
      const body = await toSqsDelivery(record, async () => engines.s3, bucket).open();
      found.push(JSON.parse(body) as unknown);
      await engines.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));
    }
  }
  return found;
}

interface Parts {
  method: string;
  /** Path without the query. */
  path: string;
  query: URLSearchParams;
  headers: Record<string, string>;
  /** Body in the form that API Gateway passes: text, or base64 if it is not UTF-8. */
  body: string | null;
  isBase64Encoded: boolean;
}

async function partsOf(path: string, init: RequestInit = {}): Promise<Parts> {
  const { method = "GET", body } = init;
  const request = new Request(`https://api.test${path}`, { ...init, method });
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(await request.arrayBuffer());
  const isBase64Encoded = !Buffer.from(bytes.toString()).equals(bytes);
  const headers = Object.fromEntries(request.headers);
  // The Request adds a content type that the client did not send.
  if (!new Headers(init.headers).has("content-type")) delete headers["content-type"];
  const { pathname, searchParams } = new URL(request.url);
  return {
    method,
    path: pathname,
    query: searchParams,
    headers,
    body: bytes.length === 0 ? null : bytes.toString(isBase64Encoded ? "base64" : "utf8"),
    isBase64Encoded,
  };
}

/** The events by which AWS invokes a function for an HTTP request. */
const events: Record<string, (parts: Parts) => object> = {
  "an HTTP API's default stage": (parts) => payload2(parts, "$default", parts.path),
  "an HTTP API's named stage": (parts) => payload2(parts, "prod", `/prod${parts.path}`),
  "a REST API": ({ method, path, query, ...rest }) => ({
    resource: "/{proxy+}",
    path,
    httpMethod: method,
    multiValueHeaders: Object.fromEntries(
      Object.entries(rest.headers).map(([name, value]) => [name, [value]]),
    ),
    queryStringParameters: query.size === 0 ? null : Object.fromEntries(query),
    multiValueQueryStringParameters:
      query.size === 0
        ? null
        : Object.fromEntries([...query].map(([name, value]) => [name, [value]])),
    requestContext: {
      stage: "prod",
      path: `/prod${path}`,
      httpMethod: method,
      domainName: "api.test",
    },
    ...rest,
  }),
  "a load balancer": ({ method, path, query, ...rest }) => ({
    path,
    httpMethod: method,
    // A load balancer passes names and values on as they stand in the URL.
    queryStringParameters: Object.fromEntries(
      [...query].map((pair) => pair.map((part) => encodeURIComponent(part))),
    ),
    requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:…" } },
    ...rest,
    body: rest.body ?? "",
  }),
};

function payload2(
  { method, query, headers, body, isBase64Encoded }: Parts,
  stage: string,
  rawPath: string,
) {
  const http = {
    method,
    path: rawPath,
    protocol: "HTTP/1.1",
    sourceIp: "127.0.0.1",
    userAgent: "",
  };
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath,
    rawQueryString: query.toString(),
    headers,
    requestContext: { stage, domainName: "api.test", http },
    body,
    isBase64Encoded,
  };
}

/** The operator's suite takes half a minute: it goes along the usual form, and the one whose queries are encoded otherwise. */
const formsOfOperators = new Set(["an HTTP API's default stage", "a load balancer"]);

for (const [name, eventOf] of Object.entries(events)) {
  const createApi = () => ({
    queued: async (count: number) =>
      (await bodiesOn(queueUrl, count)).map((body) => messageSchema.parse(body)),
    queuedEvents: async (count: number) =>
      (await bodiesOn(eventsQueueUrl, count)).map((body) => eventMessageSchema.parse(body)),
    ledger: () => createDynamoLedger(engines.dynamo, "ledger", { retentionMs: 86_400_000 }),
    deadLetters: () => createS3DeadLetters(async () => engines.s3, bucket),
    documents: () =>
      createDynamoDocuments(engines.dynamo, "ledger", {
        now: Date.now,
        freshVersion: () => randomVersion(),
      }),
    async request(path: string, init?: RequestInit) {
      const event = eventOf(await partsOf(path, init));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the event has the fields that AWS documents
      const answer = await handler(event as LambdaEvent);
      const { statusCode, headers, multiValueHeaders, body, isBase64Encoded } = answer;
      const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
      return new Response(bytes.length === 0 ? null : bytes, {
        status: statusCode,
        headers: Object.entries(headers ?? multiValueHeaders ?? {}).map(
          ([key, value]): [string, string] => [key, String(value)],
        ),
      });
    },
  });
  describeHttpApi(`Lambda behind ${name}`, createApi);
  describeGuardedClients(`Lambda behind ${name}`, createApi);
  describeFuzz(`Lambda behind ${name}`, createApi, { runs: 60 });
  describeCallbacks(`Lambda behind ${name}`, createApi, { runs: 100 });
  describeRequestsApi(`Lambda behind ${name}`, createApi);
  if (formsOfOperators.has(name)) {
    describeOperatorApi(`Lambda behind ${name}`, createApi);
    describeReadiness(`Lambda behind ${name}`, createApi);
  }
}
