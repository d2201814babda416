/** The one client of the SDK that both functions import at their start, with the commands that the API sends. */
import { SendMessageBatchCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";

export const client = new SQSClient({});
export const commands = [SendMessageCommand, SendMessageBatchCommand];
