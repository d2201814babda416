import { type IncomingMessage, request } from "node:http";
import { bytesOf } from "./lambda-runtime.ts";

/** A message as SQS hands it over. https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Message.html */
export interface SqsMessage {
  MessageId: string;
  ReceiptHandle: string;
  Body: string;
  MD5OfBody: string;
  Attributes?: Record<string, string>;
  MessageAttributes?: Record<string, { StringValue?: string }>;
}

/** Time limit of a request, in milliseconds: three times the longest wait for messages. */
const requestMsMax = 60_000;

interface Answers {
  ReceiveMessage: { Messages?: SqsMessage[] };
  DeleteMessageBatch: object;
}

/**
 * Asks the SQS server of this machine, which checks no signature. The SDK takes five times the CPU, and each message takes two
 * requests.
 *
 * @throws an Error with the answer's text, if it is not 200
 */
export async function askSqs<Action extends keyof Answers>(
  action: Action,
  input: { QueueUrl: string; [field: string]: unknown },
  signal?: AbortSignal,
): Promise<Answers[Action]> {
  const limit = AbortSignal.timeout(requestMsMax);
  const asked = request(new URL(input.QueueUrl).origin, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `AmazonSQS.${action}`,
    },
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  asked.end(JSON.stringify(input));
  const response = await new Promise<IncomingMessage>((answered, failed) => {
    asked.on("response", answered).on("error", failed);
  });
  const text = (await bytesOf(response)).toString();
  const { statusCode } = response;
  if (statusCode !== 200) throw new Error(`${action} was answered ${statusCode}: ${text}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server speaks SQS's protocol
  return JSON.parse(text) as Answers[Action];
}
