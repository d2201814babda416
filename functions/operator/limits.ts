import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import * as z from "#shared/lib/zod.ts";
import { uses } from "#shared/rules/gates.ts";
import type { ReadFacts } from "#shared/rules/rule.ts";
import { time, toIsoTime } from "../api/http/fields.ts";

/** The limits that the plan sets an account, and how far each is used. */
export const limitsSchema = z
  .array(
    z.strictObject({
      reason: z.string().check(z.describe("The limit, by the `reason` of calls that wait for it")),
      now: z.int(),
      limit: z.int(),
      oldest_at: z
        .nullable(time)
        .check(
          z.describe(
            "Since when the oldest of these calls has been counted. Null: none is counted, or all stop counting at the same time",
          ),
        ),
    }),
  )
  .check(z.describe("Limits of the plan beside the pace, and how far each is used"));

export function limitsOf(account: ResolvedAccount, facts: ReadFacts): z.infer<typeof limitsSchema> {
  return uses
    .flatMap((used) => used(account, facts) ?? [])
    .map(({ oldestAt, ...used }) => ({
      ...used,
      oldest_at: oldestAt === undefined ? null : toIsoTime(oldestAt),
    }));
}
