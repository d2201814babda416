import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { Template } from "#infra/aws/cdk.ts";
import type { AwsEngines } from "#infra/local/aws-engines.ts";
import { bytesOf } from "#infra/local/lambda-runtime.ts";

/** A right that a request takes: an action on a resource, and values of the keys by which conditions judge it. */
export interface NeededRight {
  action: string;
  resource: string;
  keys: Record<string, string[]>;
}

interface Statement {
  Action: string | string[];
  Resource: unknown;
  Condition?: Record<string, Record<string, string | string[]>>;
}

/** Roles of the functions, by the beginnings of their logical ids. */
type Role = "api" | "dialer" | "dispatcher";

/** Names of what the tests make, and the logical ids of what the stack has in their place. */
const logicalIds: Record<string, string> = {
  ledger: "Ledger",
  "outbound-calls": "Messages",
  calls: "Calls",
  "calls-events": "Events",
};

/** Decides whether something may be done. */
export type Judge = (needed: NeededRight) => boolean;

/**
 * Returns what a role of a template may do, as IAM judges its statements:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export function judgeOf(template: Template, role: Role): Judge {
  const statements = Object.values(template.findResources("AWS::IAM::Policy"))
    .map(({ Properties }) => Object(Properties))
    .filter(({ Roles }) => JSON.stringify(Roles).includes(`"Ref":"${role}role`))
    .flatMap(({ PolicyDocument }): Statement[] => PolicyDocument.Statement);
  return (needed) => statements.some((one) => allows(one, needed));
}

function allows({ Action, Resource, Condition = {} }: Statement, needed: NeededRight): boolean {
  if (![Action].flat().includes(needed.action)) return false;
  if (![Resource].flat().some((one) => isLike(needed.resource, textOf(one)))) return false;
  return Object.entries(Condition).every(([operator, values]) => {
    if (!/^(ForAllValues:)?StringLike$/.test(operator)) throw new Error(`condition ${operator}`);
    return Object.entries(values).every(([key, patterns]) => {
      const found = needed.keys[key];
      if (found === undefined) return operator.startsWith("ForAllValues");
      return found.every((value) => [patterns].flat().some((one) => isLike(value, one)));
    });
  });
}

function isLike(value: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[^\w\s]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(value);
}

/** Resolves a template's reference to a resource to its logical id, without the hash at its end. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const { Ref, "Fn::GetAtt": attribute, "Fn::Join": join } = Object(value);
  if (join !== undefined) return join[1].map(textOf).join(join[0]);
  return String(Ref ?? attribute?.[0]).replace(/[0-9A-F]{8}$/, "");
}

/** Starts servers before DynamoDB, S3 and SQS that refuse what is not allowed, as AWS does and engines do not. */
export async function startRights(engines: AwsEngines, first: Judge) {
  const refused: string[] = [];
  let judge = first;
  const isRefused = (needed: NeededRight) => {
    if (judge(needed)) return false;
    refused.push(JSON.stringify(needed));
    return true;
  };
  const services = await Promise.all(
    [engines.endpoint, engines.dynamoEndpoint].map((endpoint) => startBefore(endpoint, isRefused)),
  );
  const [endpoint = "", dynamoEndpoint = ""] = services.map((one) => one.endpoint);
  return {
    endpoint,
    dynamoEndpoint,
    /** Requests that were refused so far. */
    refused,
    /** Judges by other rights from now on. */
    judgeBy(other: Judge): void {
      judge = other;
    },
    stop(): void {
      for (const one of services) one.stop();
    },
  };
}

async function startBefore(endpoint: string, isRefused: (needed: NeededRight) => boolean) {
  const server = createServer((request, response) => {
    const answer = async () => {
      const { method = "GET", url = "/", headers } = request;
      const body = await bytesOf(request);
      const isDynamo = String(headers["x-amz-target"]).startsWith("DynamoDB");
      if (neededFor(request, body).some(isRefused)) {
        const code = isDynamo ? "AccessDeniedException" : "AccessDenied";
        response.writeHead(isDynamo ? 400 : 403).end(`{"__type":"${code}"}`);
        return;
      }
      const passed = Object.entries(headers).filter(
        ([name]) => !/^(host|connection|content-length|transfer-encoding|expect)$/.test(name),
      );
      const answered = await fetch(`${endpoint}${url}`, {
        method,
        headers: passed.map(([name, value]): [string, string] => [name, String(value)]),
        ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
      });
      const bytes = Buffer.from(await answered.arrayBuffer());
      response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(bytes);
    };
    answer().catch((error: unknown) => response.writeHead(502).end(String(error)));
  });
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const idOf = (name: string): string => logicalIds[name] ?? name;

/** Returns what a request takes, by the references of the actions of each service. */
function neededFor({ headers, method = "GET", url = "/" }: IncomingMessage, body: Buffer) {
  const [service = "", operation = ""] = String(headers["x-amz-target"] ?? "").split(".");
  if (service.startsWith("DynamoDB")) return [ofDynamo(operation, JSON.parse(body.toString()))];
  if (service === "AmazonSQS") {
    const { QueueUrl = "" } = Object(JSON.parse(body.toString()));
    const action = `sqs:${operation.replace(/Batch$/, "")}`;
    return [{ action, resource: idOf(String(QueueUrl).split("/").at(-1) ?? ""), keys: {} }];
  }
  return [ofS3(method, new URL(url, "http://s3"))];
}

type Attributes = Record<string, { S: string }>;

/** https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html */
function ofDynamo(operation: string, input: Record<string, never>): NeededRight {
  const { TableName, IndexName, Key, Item, ExpressionAttributeValues, RequestItems } =
    Object(input);
  const batches: [string, { Keys: Attributes[] }][] = Object.entries(RequestItems ?? {});
  const [table = TableName] = batches.map(([name]) => name);
  const hashes: (string | undefined)[] = [
    ...batches.flatMap(([, { Keys }]) => Keys.map(({ pk }) => pk?.S)),
    ...[Key, Item].map((one) => one?.pk.S),
    ExpressionAttributeValues?.[":hash"]?.S,
  ];
  const leading = operation === "Query" ? hashes.slice(-1) : hashes.slice(0, -1);
  const index = IndexName === undefined ? "" : `/index/${IndexName}`;
  return {
    action: `dynamodb:${operation}`,
    resource: `${idOf(table)}${index}`,
    keys: { "dynamodb:LeadingKeys": leading.filter((one) => one !== undefined) },
  };
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html */
function ofS3(method: string, { pathname, searchParams }: URL): NeededRight {
  const [, bucket = "", ...rest] = pathname.split("/").map((part) => decodeURIComponent(part));
  const key = rest.join("/");
  if (key === "") {
    const keys = { "s3:prefix": [searchParams.get("prefix") ?? ""] };
    return { action: "s3:ListBucket", resource: idOf(bucket), keys };
  }
  const actions: Record<string, string> = { PUT: "PutObject", DELETE: "DeleteObject" };
  const action = `s3:${actions[method] ?? "GetObject"}`;
  return { action, resource: `${idOf(bucket)}/${key}`, keys: {} };
}
