import type { Counted } from "./meter.ts";

export const inWords = (count: number) => count.toLocaleString("en");
export const short = (amount: number) => String(Number(amount.toFixed(3)));

/** Returns the round trips to all services. */
export function tripsOf(counted: Counted): number {
  return [
    "d1Queries",
    "dynamoRequests",
    "queueSends",
    "sqsSends",
    "r2Writes",
    "r2Reads",
    "s3Puts",
    "s3Gets",
  ]
    .map((name) => counted[name] ?? 0)
    .reduce((sum, one) => sum + one, 0);
}

/** Returns the rows read and written on D1, or the units on DynamoDB. */
export function touchedOf({ d1RowsRead = 0, d1RowsWritten = 0, ...aws }: Counted): number {
  const { dynamoReadUnits = 0, dynamoWriteUnits = 0 } = aws;
  return d1RowsRead + d1RowsWritten + dynamoReadUnits + dynamoWriteUnits;
}

/** Formats the first and the last of the numbers. */
export function ends(numbers: readonly number[]): string {
  return [...new Set([numbers[0] ?? 0, numbers.at(-1) ?? 0].map(short))].join(" → ");
}

/** Returns true if no number is larger than the one before it, by more than a hundredth. */
export function isFalling(numbers: readonly number[]): boolean {
  return numbers.every((one, index) => one <= (numbers[index - 1] ?? one) * 1.01);
}
