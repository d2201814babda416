/** The AWS client that the API imports at its start, with the commands that it sends. */
import { SendMessageBatchCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";

export const client = new SQSClient({});
export const commands = [SendMessageCommand, SendMessageBatchCommand];
