import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import type { LambdaEvent } from "hono/aws-lambda";
import { afterAll, beforeAll } from "vitest";
import { type AwsEngines, startAwsEngines } from "#infra/local/aws-engines.ts";
import { eventMessageSchema } from "#shared/ports/event-messages.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { toSqsDelivery } from "#shared/aws/sqs-queue.ts";
import { createDynamoDocuments } from "#shared/aws/dynamodb-documents.ts";
import { createDynamoLedger } from "#shared/aws/dynamodb-ledger.ts";
import { createS3DeadLetters } from "#shared/aws/s3-stores.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { apiEnvironment } from "../support/environment.ts";

const bucket = "outbound-calls";

/** Takes the bodies of all messages of a queue, once there are `count`. */
async function bodiesOn(engines: AwsEngines, url: string, count: number): Promise<unknown[]> {
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
const events = {
  "an HTTP API's default stage": (parts: Parts) => payload2(parts, "$default", parts.path),
  "an HTTP API's named stage": (parts: Parts) => payload2(parts, "prod", `/prod${parts.path}`),
  "a REST API": ({ method, path, query, ...rest }: Parts) => ({
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
  "a load balancer": ({ method, path, query, ...rest }: Parts) => ({
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
} satisfies Record<string, (parts: Parts) => object>;

export type EventForm = keyof typeof events;

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

/** Addresses that the function asks in the place of the engines. */
interface Before {
  endpoint: string;
  dynamoEndpoint: string;
}

interface Options {
  /** Starts what the function asks in the place of the engines. */
  before?: (engines: AwsEngines) => Promise<Before>;
  /** The function's own variables. */
  environment?: Record<string, string>;
  /** Runs before each request, with its path. */
  onRequest?: (path: string) => void;
}

/** Starts the engines and the API's Lambda function before the tests of a file, and stops them after the tests. */
export function useLambda(options: Options = {}) {
  let running: Awaited<ReturnType<typeof startLambda>> | undefined;
  beforeAll(async () => {
    running = await startLambda(options);
  });
  afterAll(() => running?.engines.stop());
  const started = () => {
    if (running === undefined) throw new Error("the function has not started");
    return running;
  };
  /** Returns the API behind one form of events, as the suites take it. */
  return (form: EventForm) => () => ({
    queued: async (count: number) =>
      (await bodiesOn(started().engines, started().queueUrl, count)).map((body) =>
        messageSchema.parse(body),
      ),
    queuedEvents: async (count: number) =>
      (await bodiesOn(started().engines, started().eventsQueueUrl, count)).map((body) =>
        eventMessageSchema.parse(body),
      ),
    ledger: () =>
      createDynamoLedger(started().engines.dynamo, "ledger", { retentionMs: 86_400_000 }),
    deadLetters: () => createS3DeadLetters(async () => started().engines.s3, bucket),
    documents: () =>
      createDynamoDocuments(started().engines.dynamo, "ledger", {
        now: Date.now,
        freshVersion: () => randomVersion(),
      }),
    async request(path: string, init?: RequestInit) {
      options.onRequest?.(path);
      const event = events[form](await partsOf(path, init));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the event has the fields that AWS documents
      const answer = await started().handler(event as LambdaEvent);
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
}

async function startLambda({ before, environment = apiEnvironment }: Options) {
  const engines = await startAwsEngines();
  await engines.createBucket(bucket);
  await engines.createTable("ledger");
  const queueUrl = await engines.createQueue("calls");
  const eventsQueueUrl = await engines.createQueue("calls-events");
  const { endpoint, dynamoEndpoint } = (await before?.(engines)) ?? engines;
  const asked = (url: string) => url.replace(engines.endpoint, endpoint);
  Object.assign(process.env, environment, {
    ...engines.variables,
    AWS_ENDPOINT_URL_SQS: endpoint,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_ENDPOINT_URL_DYNAMODB: dynamoEndpoint,
    QUEUE_URL: asked(queueUrl),
    EVENTS_QUEUE_URL: asked(eventsQueueUrl),
    BUCKET: bucket,
    TABLE: "ledger",
  });
  const { handler } = await import("#functions/api/lambda.ts");
  return { engines, queueUrl, eventsQueueUrl, handler };
}
