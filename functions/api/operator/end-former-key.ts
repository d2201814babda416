import { doNotCallListKey, findCurrentSince, namesOf } from "../../../shared/policy/do-not-call.ts";
import { dropKeys } from "../../../shared/policy/do-not-call-entries.ts";
import { capDaysMax } from "../../../shared/telephony/frequency-cap.ts";
import { dayMs } from "../../../shared/lib/units.ts";
import * as z from "../../../shared/lib/zod.ts";
import type { RouteDeps } from "../http/context.ts";
import { foreignCursor } from "../http/cursors.ts";
import { nextCursor } from "../http/fields.ts";
import { answerProblem } from "../http/problem.ts";
import { recordAction } from "../actions/audit-log.ts";
import { declareRoute } from "../http/route.ts";

/** Entries of one page, and pages that one request reads. */
const pageEntries = 1_000;
const pagesMax = 10;

const endedSchema = z.strictObject({
  ended: z.boolean().check(z.describe("False: send the request again with the cursor")),
  cursor: nextCursor,
});
export type KeyEnded = z.infer<typeof endedSchema>;

/**
 * Ends the former HASH_KEY in the do-not-call list, once nothing depends on it. Entries that are written while the list is
 * walked are under the current key: all rows that may be hashed under the former one are gone by then.
 */
export const endFormerKey = declareRoute({
  operationId: "endFormerKey",
  summary: "End the former HASH_KEY, once no entry of the list needs it",
  method: "post",
  path: "/do-not-call/end-former-key",
  body: z.strictObject({
    cursor: z.optional(z.string().check(z.regex(/^[0-9a-f]{64}$/, foreignCursor))),
  }),
  answer: endedSchema,
  problems: [409],
  async handle({ c, deps, body }) {
    const [, former] = namesOf(deps.hashKeys);
    const refusal =
      former === undefined ? "HASH_KEY holds one key: there is no former one." : await waits(deps);
    if (former === undefined || refusal !== undefined) {
      return answerProblem(c, 409, { detail: refusal ?? "" });
    }
    const { count, next } = await countEntries(former, body.cursor, deps);
    if (count > 0) {
      const detail =
        `Of the entries looked at, ${count} stand under the former key. An entry moves when its number is put onto the list ` +
        "again (dnc add), or a call to it is refused.";
      return answerProblem(c, 409, { detail });
    }
    if (next !== undefined) return { ended: false, cursor: next };
    await recordAction(c, { action: "end_former_key", target: "do-not-call list" }, deps);
    await dropKeys((name) => name === former, deps);
    return { ended: true };
  },
});

/** Returns why the former key may still be needed, other than by entries; undefined if it is not. */
async function waits({ documents, hashKeys, clock, retentionMs }: RouteDeps) {
  const since = findCurrentSince(await documents.read([doNotCallListKey]), hashKeys);
  if (since === undefined) {
    return "The dialer has not noted the current key yet. It does so within minutes of the rotation.";
  }
  // A callee who opts out is listed by the hash of the row. A day more, as rows are purged a little late.
  const until = since + Math.max(retentionMs, capDaysMax * dayMs) + dayMs;
  if (clock.now() >= until) return undefined;
  return `Calls and caps may still be hashed under the former key, until ${new Date(until).toISOString()}.`;
}

/** Counts entries under a key, up to the first page that has any, or as many pages as one request reads. */
async function countEntries(
  keyName: string,
  cursor: string | undefined,
  { documents }: RouteDeps,
): Promise<{ count: number; next?: string | undefined }> {
  let after = cursor;
  for (let page = 0; page < pagesMax; page++) {
    const entries = await documents.list("do-not-call", { after, limit: pageEntries });
    const count = entries.filter(({ value }) => value.key === keyName).length;
    if (count > 0 || entries.length < pageEntries) return { count };
    after = entries.at(-1)?.key;
  }
  return { count: 0, next: after };
}
