import type { DynamoAction, DynamoClient } from "#shared/aws/dynamodb-client.ts";

/** A request of DynamoDB. */
export interface DynamoRequest {
  action: DynamoAction;
  input: object;
}
interface Answer {
  output: object;
  date: string | undefined;
}

/** Returns a client whose requests go through `pass`, which sends them and may change their answers. */
export function between(
  client: DynamoClient,
  pass: (request: DynamoRequest, send: () => Promise<Answer>) => Promise<Answer>,
): DynamoClient {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a test's answers have the form of the action's
  const send = ((action, input) =>
    pass({ action, input }, () => client.send(action, input))) as DynamoClient["send"];
  return { send };
}
