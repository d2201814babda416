import * as z from "../lib/zod.ts";
import { phoneNumber } from "./define-provider.ts";

const numbersMax = 100;

/** A route's `from` with several calling numbers. */
const poolSchema = z.strictObject({
  pool: z.array(phoneNumber).check(
    z.minLength(1),
    z.maxLength(numbersMax),
    z.refine((pool) => new Set(pool).size === pool.length, "must not have a number twice"),
  ),
  /** By what a call's number is chosen: each callee sees the same one. */
  pick: z.literal("callee"),
});

/**
 * Reads the pool of a route's `from`, if it is one. Paths of issues are relative to the route.
 *
 * @param isNumber true if `from` is a phone number along such routes
 */
export function readCallerPool(
  from: unknown,
  isNumber: boolean,
): { callerIds: string[] | undefined } | { issues: z.core.$ZodIssue[] } {
  if (typeof from !== "object" || from === null) return { callerIds: undefined };
  if (!isNumber) {
    const message = "must not be a pool: this provider takes no phone number";
    return { issues: [{ code: "custom", path: ["from"], message, input: undefined }] };
  }
  const { data, error } = poolSchema.safeParse(from);
  if (data !== undefined) return { callerIds: data.pool };
  return { issues: error.issues.map((issue) => ({ ...issue, path: ["from", ...issue.path] })) };
}
