import { setTimeout as sleep } from "node:timers/promises";
import type * as dynamodb from "@aws-sdk/client-dynamodb";
import {
  isServerError,
  isThrottlingError,
  isTransientError,
  StandardRetryStrategy,
} from "@smithy/core/retry";
import { type AwsAccount, createSignedPost } from "./signed-post.ts";

export type Item = Record<string, dynamodb.AttributeValue>;

/** Inputs and outputs of the actions that the adapters need. */
interface Actions {
  BatchGetItem: [dynamodb.BatchGetItemInput, dynamodb.BatchGetItemOutput];
  DeleteItem: [dynamodb.DeleteItemInput, dynamodb.DeleteItemOutput];
  GetItem: [dynamodb.GetItemInput, dynamodb.GetItemOutput];
  PutItem: [dynamodb.PutItemInput, dynamodb.PutItemOutput];
  Query: [dynamodb.QueryInput, dynamodb.QueryOutput];
  UpdateItem: [dynamodb.UpdateItemInput, dynamodb.UpdateItemOutput];
}
export type DynamoAction = keyof Actions;
export type DynamoInput<Action extends DynamoAction> = Actions[Action][0];
type DynamoOutput<Action extends DynamoAction> = Actions[Action][1];

/** DynamoDB, as far as the adapters use it. */
export interface DynamoClient {
  /**
   * Sends a request, up to four times if DynamoDB is busy, out of order or out of reach.
   *
   * @returns the output, and the answer's `Date`
   * @throws an Error whose name is DynamoDB's code for it, such as ConditionalCheckFailedException
   */
  send<Action extends DynamoAction>(
    action: Action,
    input: DynamoInput<Action>,
  ): Promise<{ output: DynamoOutput<Action>; date: string | undefined }>;
}

/** The SDK's own of DynamoDB: four attempts, and a wait that begins at 25 ms, or at a second if DynamoDB throttles. */
const retrying = { maxAttempts: 4, baseDelay: 25 };
/** Time limit of one attempt. Without one, an unanswered request would block a whole delivery. */
const answerMsMax = 4_000;

/**
 * Creates a client that speaks DynamoDB's JSON protocol by itself. The SDK's takes three times the CPU of a request and 80 ms
 * to start. Signatures, credentials, retries and which errors are retried are the SDK's own, from the packages of its SQS client.
 *
 * @param options.endpoint absent: DynamoDB's address in the account's region
 */
export function createDynamoClient(options: {
  account: AwsAccount;
  endpoint: string | undefined;
}): DynamoClient {
  const post = createSignedPost("dynamodb", { ...options, answerMsMax });
  const retries = new StandardRetryStrategy(retrying);

  async function ask(action: DynamoAction, body: string) {
    const { status, headers, text } = await post("/", body, {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `DynamoDB_20120810.${action}`,
      "user-agent": "outbound-calls",
    });
    if (status !== 200) throw errorOf(status, text);
    return { output: readBytes(JSON.parse(text)), date: headers.date };
  }

  return {
    async send(action, input) {
      const body = toBody(input);
      let token = await retries.acquireInitialRetryToken("");
      for (;;) {
        try {
          const answer = await ask(action, body);
          retries.recordSuccess(token);
          return answer;
        } catch (caught) {
          const error = toSdkError(caught);
          const errorType = typeOf(error);
          token = await retries.refreshRetryTokenForRetry(token, { error, errorType }).catch(() => {
            throw error; // it is not to be retried, or not again
          });
          await sleep(token.getRetryDelay());
        }
      }
    },
  };
}

type SdkError = Parameters<typeof isTransientError>[0];

function toSdkError(caught: unknown): SdkError {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the SDK's type only adds fields that may be absent
  return (caught instanceof Error ? caught : new Error(String(caught))) as SdkError;
}

/** Sorts errors as the SDK does: the first two are retried, and throttling after a longer wait. */
function typeOf(error: SdkError) {
  if (isThrottlingError(error)) return "THROTTLING";
  if (isTransientError(error)) return "TRANSIENT";
  return isServerError(error) ? "SERVER_ERROR" : "CLIENT_ERROR";
}

function errorOf(status: number, text: string): Error {
  const { __type = "", message, Message } = parseError(text);
  const name = __type.replace(/^.*#/, "") || `HTTP ${status}`;
  const error = new Error(message ?? Message ?? "DynamoDB gives no reason");
  // As errors of the SDK do, it says whose fault it is.
  const fault = status < 500 ? "client" : "server";
  return Object.assign(error, { name, $fault: fault, $metadata: { httpStatusCode: status } });
}

interface ErrorBody {
  __type?: string;
  message?: string;
  Message?: string;
}

/** Something between here and DynamoDB may answer with another body. */
function parseError(text: string): ErrorBody {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/**
 * Writes an input as JSON, its bytes in base64. Only an item to put and an expression's values have bytes: where a query goes
 * on is handed back as it came.
 */
function toBody(input: DynamoInput<DynamoAction>): string {
  return JSON.stringify({
    ...input,
    ...("Item" in input ? { Item: withBase64(input.Item) } : {}),
    ...("ExpressionAttributeValues" in input
      ? { ExpressionAttributeValues: withBase64(input.ExpressionAttributeValues) }
      : {}),
  });
}

function withBase64(item: Item | undefined) {
  if (item === undefined) return undefined;
  const values = Object.entries(item).map(([name, value]) => [
    name,
    value.B === undefined ? value : { B: Buffer.from(value.B).toString("base64") },
  ]);
  return Object.fromEntries(values);
}

interface ItemsIn {
  Item?: Item;
  Attributes?: Item;
  Items?: Item[];
  Responses?: Record<string, Item[]>;
}

/** Replaces the base64 of an output's items by its bytes. */
function readBytes<Output extends ItemsIn>(output: Output): Output {
  const { Item, Attributes, Items = [], Responses = {} } = output;
  for (const item of [Item, Attributes, ...Items, ...Object.values(Responses).flat()]) {
    for (const value of Object.values(item ?? {})) {
      if (value.B !== undefined) value.B = Buffer.from(String(value.B), "base64");
    }
  }
  return output;
}
