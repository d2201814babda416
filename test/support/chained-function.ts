/** A Lambda function that answers each message with another one: a chain that Lambda stops. */
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSEvent } from "aws-lambda";

const sqs = new SQSClient({});

export async function handler({ Records }: SQSEvent): Promise<{ batchItemFailures: [] }> {
  for (const { body } of Records) {
    const MessageBody = String(Number(body) + 1);
    await sqs.send(new SendMessageCommand({ QueueUrl: process.env["QUEUE_URL"], MessageBody }));
  }
  return { batchItemFailures: [] };
}
