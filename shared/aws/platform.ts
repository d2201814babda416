import type { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";
import { errorForLog, type Log } from "../lib/log.ts";
import type { Environment } from "../settings/settings.ts";
import { createDynamoClient, type DynamoClient } from "./dynamodb-client.ts";
import { type AwsAccount, endpointIn } from "./signed-post.ts";
import { withTimeLimit } from "../lib/retry.ts";
import { hourMs, minuteMs } from "../lib/units.ts";

/** Clients of both Lambda functions. Those of queue and table are created at once, the others at first use. */
export interface AwsPlatform {
  /** The functions' own account, as the SDK finds it. */
  account: AwsAccount;
  sqs: SQSClient;
  queueUrl: string;
  eventsQueueUrl: string;
  s3: () => Promise<S3Client>;
  bucket: string;
  dynamo: DynamoClient;
  table: string;
  /**
   * Resolves to the variables, and the values of the secrets in SECRET_IDS, which are JSON objects in Secrets
   * Manager.
   */
  environment: () => Promise<Environment>;
}

/**
 * @param variables QUEUE_URL, EVENTS_QUEUE_URL, BUCKET, TABLE; SECRET_IDS,
 * separated by commas; on a machine without an account also AWS_ENDPOINT_URL_S3 and the like, which the SDK reads by itself
 * @throws an Error that names the missing variable
 */
export function createAwsPlatform(variables: Environment, log: Log): AwsPlatform {
  const required = (name: string): string => {
    const value = variables[name];
    if (!value) throw new Error(`${name} is not set`);
    return value;
  };
  // The SDK has no default time limit: an unanswered request would block a whole delivery.
  const limits = {
    requestHandler: {
      connectionTimeout: 2_000,
      requestTimeout: 10_000,
      throwOnRequestTimeout: true,
    },
  };
  const sqs = new SQSClient(limits);
  const account = sqs.config;
  return {
    account,
    sqs,
    queueUrl: required("QUEUE_URL"),
    eventsQueueUrl: required("EVENTS_QUEUE_URL"),
    bucket: required("BUCKET"),
    table: required("TABLE"),
    s3: once(async () => {
      const { S3Client } = await import("@aws-sdk/client-s3");
      // Path style for a given endpoint, as a local server has no host name for each bucket.
      const forcePathStyle = variables["AWS_ENDPOINT_URL_S3"] !== undefined;
      return new S3Client({ ...limits, forcePathStyle });
    }),
    dynamo: createDynamoClient({ account, endpoint: endpointIn(variables, "DYNAMODB") }),
    async environment() {
      const ids = (variables["SECRET_IDS"] ?? "").split(",").filter((id) => id !== "");
      if (ids.length === 0) return variables;
      const { GetSecretValueCommand, SecretsManagerClient } =
        await import("@aws-sdk/client-secrets-manager");
      const client = new SecretsManagerClient(limits);
      const answers = await Promise.all(
        ids.map((SecretId) => client.send(new GetSecretValueCommand({ SecretId }))),
      );
      const secrets = answers.map(({ SecretString }) => stringsIn(SecretString ?? "", log));
      return Object.assign({}, variables, ...secrets);
    },
  };
}

const freshMsMax = 5 * minuteMs;
const staleMsMax = hourMs;
const retryMs = 30_000;
const makeSecondsMax = 5;

/**
 * Returns the value of `make`, renewed once it is five minutes old. If renewal fails or hangs, the old value is used
 * for at most another hour, with an alarm, so that a revoked token does not stay valid for as long as the new list
 * cannot be read.
 */
export function everyFiveMinutes<Value>(
  make: () => Promise<Value>,
  log: Log,
): () => Promise<Value> {
  let current: { value: Value; madeAt: number } | undefined;
  let triedAt = 0;
  return async () => {
    const now = Date.now();
    if (current !== undefined) {
      if (now - current.madeAt < freshMsMax) return current.value;
      if (now - triedAt < retryMs && now - current.madeAt < staleMsMax) return current.value;
    }
    triedAt = now;
    try {
      const value = await withTimeLimit(make(), makeSecondsMax);
      current = { value, madeAt: now };
      return value;
    } catch (error) {
      log("alarm", "settings.unreachable", { error: errorForLog(error) });
      if (current !== undefined && now - current.madeAt < staleMsMax) return current.value;
      throw new Error("the settings cannot be read", { cause: error });
    }
  };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}

/**
 * Returns the values of a secret as strings. A value that is no string, such as the array of API_TOKENS, becomes
 * JSON. A secret that is no JSON object counts as empty: all tokens are refused and nobody is dialed. The parser's
 * message is not logged, as it would quote the secret.
 */
function stringsIn(secret: string, log: Log): Environment {
  let values: unknown;
  try {
    values = JSON.parse(secret);
  } catch {
    values = undefined;
  }
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    log("alarm", "settings.invalid", { problem: "a secret of SECRET_IDS is no JSON object" });
    return {};
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}
