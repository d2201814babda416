import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { Environment } from "./settings.ts";

/** What both Lambda functions reach: the queue at once, the other clients when they are first needed. */
export interface AwsPlatform {
  sqs: SQSClient;
  queueUrl: string;
  deadQueueUrl: string;
  s3: () => Promise<S3Client>;
  bucket: string;
  dynamo: () => Promise<DynamoDBClient>;
  table: string;
  /** Variables, and the secrets that SECRET_ID names, a JSON object in Secrets Manager. */
  environment: () => Promise<Environment>;
}

/**
 * @param variables QUEUE_URL, DEAD_QUEUE_URL, BUCKET, TABLE; SECRET_ID; on a machine without an account
 *   AWS_ENDPOINT_URL_S3 and its like, which the SDK reads by itself
 * @throws naming the variable that is missing
 */
export function createAwsPlatform(variables: Environment): AwsPlatform {
  const required = (name: string): string => {
    const value = variables[name];
    if (!value) throw new Error(`${name} is not set`);
    return value;
  };
  return {
    sqs: new SQSClient({}),
    queueUrl: required("QUEUE_URL"),
    deadQueueUrl: required("DEAD_QUEUE_URL"),
    bucket: required("BUCKET"),
    table: required("TABLE"),
    s3: once(async () => {
      const { S3Client } = await import("@aws-sdk/client-s3");
      // Path style where an endpoint is given: a local server has no host name for each bucket.
      return new S3Client({ forcePathStyle: variables["AWS_ENDPOINT_URL_S3"] !== undefined });
    }),
    dynamo: once(async () => {
      const { DynamoDBClient } = await import("@aws-sdk/client-dynamodb");
      return new DynamoDBClient({});
    }),
    async environment() {
      const SecretId = variables["SECRET_ID"];
      if (SecretId === undefined || SecretId === "") return variables;
      const { GetSecretValueCommand, SecretsManagerClient } =
        await import("@aws-sdk/client-secrets-manager");
      const { SecretString } = await new SecretsManagerClient({}).send(
        new GetSecretValueCommand({ SecretId }),
      );
      const secrets: unknown = JSON.parse(SecretString ?? "");
      return { ...variables, ...stringsOf(secrets) };
    },
  };
}

/** What `make` makes, made anew once it is five minutes old; where that fails, the old one serves on. */
export function everyFiveMinutes<Value>(make: () => Promise<Value>): () => Promise<Value> {
  const ageMsMax = 5 * 60_000;
  let current: { value: Value; madeAt: number } | undefined;
  return async () => {
    if (current !== undefined && Date.now() - current.madeAt < ageMsMax) return current.value;
    try {
      current = { value: await make(), madeAt: Date.now() };
    } catch (error) {
      if (current === undefined) throw error;
    }
    return current.value;
  };
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}

/** Secret values that are no strings, such as the array of API_TOKENS, are taken as their JSON. */
function stringsOf(secrets: unknown): Environment {
  if (typeof secrets !== "object" || secrets === null)
    throw new Error("the secret is no JSON object");
  return Object.fromEntries(
    Object.entries(secrets).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}
