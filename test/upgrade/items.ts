import type { AttributeValue } from "@aws-sdk/client-dynamodb";

/** A row or an item of a table, as JSON. */
export type Stored = Record<string, unknown>;

/** Returns an item as JSON, its bytes in base64. */
export function toJson(item: Record<string, AttributeValue>): Stored {
  return Object.fromEntries(
    Object.entries(item)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, value]) => [
        name,
        value.B === undefined ? value : { B: Buffer.from(value.B).toString("base64") },
      ]),
  );
}

/** Returns an item as DynamoDB's client has it. */
export function toItem(stored: Stored): Record<string, AttributeValue> {
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]): [string, AttributeValue] => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as `toJson` has made it
      const { S, N, B } = value as { S?: string; N?: string; B?: string };
      if (B !== undefined) return [name, { B: Buffer.from(B, "base64") }];
      return [name, N === undefined ? { S: S ?? "" } : { N }];
    }),
  );
}
