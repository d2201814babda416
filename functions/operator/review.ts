import * as z from "#shared/lib/zod.ts";
import { callCursor } from "../api/http/cursors.ts";
import { limit, nextCursor } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";
import { callViewSchema, toCallView } from "./call-view.ts";

const reviewSchema = z.strictObject({
  calls: z.array(callViewSchema),
  cursor: nextCursor,
  unreadable: z
    .int()
    .check(z.describe("Calls left out because only a later version of the service can read them")),
});

/** Lists what waits for a person, in the order in which it should be decided. */
const listReviews = declareRoute({
  operationId: "listReviews",
  summary: "List the calls that need review, oldest first",
  method: "get",
  path: "/review",
  query: z.strictObject({ cursor: z.optional(callCursor), limit }),
  answer: reviewSchema,
  async handle({ deps, query: { cursor, limit: rowsMax } }) {
    const { rows, unreadable, next } = await deps.ledger.listOldest({
      state: "NEEDS_REVIEW",
      after: cursor,
      limit: rowsMax,
    });
    return {
      calls: rows.map(toCallView),
      unreadable,
      ...(next === undefined ? {} : { cursor: next }),
    };
  },
});

export const reviewRoutes = [listReviews];
