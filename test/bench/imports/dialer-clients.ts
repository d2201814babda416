/** The AWS clients that the dialer imports at its start, with the commands that it sends. */
import {
  BatchGetItemCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import {
  ChangeMessageVisibilityCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

export const clients = [new SQSClient({}), new DynamoDBClient({})];
export const commands = [
  BatchGetItemCommand,
  ChangeMessageVisibilityCommand,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  UpdateItemCommand,
];
