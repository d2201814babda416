import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { isLaterTry } from "#shared/calls/chain.ts";
import { callsIn, firstCallIdAt, requestIdOf, timeOfId } from "#shared/calls/ids.ts";
import { toHeadersView } from "#shared/calls/views.ts";
import { countsViewSchema, headersView } from "#shared/calls/view-schemas.ts";
import * as z from "#shared/lib/zod.ts";
import { readLastTries } from "#shared/ports/last-tries.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { countProgress } from "../actions/count-request.ts";
import { callIdsOf } from "../actions/request-rows.ts";
import { findKey, keyPattern } from "../calls/idempotency.ts";
import type { ApiEnv, Progress, RouteDeps } from "../http/context.ts";
import { callCursor } from "../http/cursors.ts";
import { anyName, limit, nextCursor, time, toIsoTime } from "../http/fields.ts";
import { answerUnprocessable } from "../http/problem.ts";
import { declareRoute } from "../http/route.ts";
import { dayOrInstant } from "../http/time-range.ts";

/** Maximum calls of a request that a list counts. */
const countedMax = 10;

const listedSchema = z
  .looseObject({
    id: z.string(),
    accepted_at: time,
    ...headersView,
    total: z.int().check(z.describe("Calls of the request")),
    redial_of: z
      .optional(z.string())
      .check(z.describe("The call that an operator's redial replaces; absent otherwise")),
    known: z
      .boolean()
      .check(
        z.describe(
          "False in an answer by `idempotency_key` alone: no call of the request is known yet. It is on the queue, or was never put there",
        ),
      ),
    counts: z
      .optional(countsViewSchema)
      .check(z.describe(`Of requests of at most ${countedMax} calls, as \`finished\``)),
    finished: z.optional(z.boolean()),
  })
  .check(z.meta({ id: "ListedRequest" }));
type Listed = z.infer<typeof listedSchema>;

export const listRequests = declareRoute({
  operationId: "listRequests",
  summary: "Your requests, newest first",
  method: "get",
  path: "/requests",
  query: z.strictObject({
    from: z
      .optional(dayOrInstant)
      .check(z.describe("Requests accepted from then on; a date is the day in UTC")),
    to: z
      .optional(dayOrInstant)
      .check(z.describe("Requests accepted before then; a date includes its day in UTC")),
    campaign: z.optional(anyName).check(z.describe("Requests of this Call-Campaign")),
    idempotency_key: z
      .optional(
        z
          .string()
          .check(
            z.regex(
              keyPattern,
              "must be 1 to 255 printable ASCII characters without a comma, as the header",
            ),
          ),
      )
      .check(
        z.describe(
          "The request of this Idempotency-Key of the last 24 hours. No other parameter may be sent with it",
        ),
      ),
    cursor: z.optional(callCursor),
    limit,
  }),
  answer: z.looseObject({ requests: z.array(listedSchema), cursor: nextCursor }),
  problems: [403],
  async handle({ c, deps, query }) {
    const { idempotency_key: key, ...page } = query;
    if (key !== undefined) return findByKey(c, key, deps);
    const { retentionMs, clock } = deps;
    // A purge deletes the rows of an older request one by one.
    const oldest = clock.now() - retentionMs + 1;
    const from = Math.max(oldest, page.from?.from ?? 0);
    if (page.from !== undefined && page.to !== undefined && page.from.from >= page.to.to) {
      return answerUnprocessable(c, [{ pointer: "/from", detail: "must be before `to`" }]);
    }
    const { client } = c.get("caller");
    const { rows, next } = await deps.ledger.list({
      client,
      campaign: page.campaign,
      before: earlier(page.cursor, page.to && firstCallIdAt(page.to.to)),
      limit: page.limit,
    });
    const own = rows.filter((row) => timeOfId(row.id) >= from && !isLaterTry(row));
    const isMore = next !== undefined && timeOfId(next) >= from;
    return {
      requests: await toListed(own, deps),
      ...(isMore ? { cursor: next } : {}),
    };
  },
});

/** Returns the earlier one of two ids, if there is any. */
function earlier(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one < other ? one : other;
}

/** Answers with the request that an Idempotency-Key of the caller's client is bound to. */
async function findByKey(c: Context<ApiEnv>, key: string, deps: RouteDeps) {
  const others = Object.keys(c.req.queries()).filter((name) => name !== "idempotency_key");
  if (others.length > 0) {
    const detail = "must not be combined with `idempotency_key`";
    return answerUnprocessable(
      c,
      others.map((name) => ({ pointer: `/${name}`, detail })),
    );
  }
  const { client } = c.get("caller");
  const bound = await findKey(deps.documents, { client, key });
  if (bound === undefined) return { requests: [] };
  const { requestId: id, acceptedAt } = bound;
  const { rows, unreadable } = await deps.ledger.list({ requestId: id, limit: 1 });
  const [one] = await toListed(
    rows.filter((row) => row.client === client),
    deps,
  );
  // The key is bound before the calls are put on the queue, so it is no proof that they are.
  const known = unreadable > 0;
  const bare = { id, accepted_at: toIsoTime(acceptedAt), total: callsIn(id), known };
  return { requests: [one ?? bare] };
}

/** Returns requests as a list shows them, each by a row of one of its calls. */
async function toListed(rows: readonly CallRow[], deps: RouteDeps): Promise<Listed[]> {
  const progress = await countSmall(
    rows.filter(({ batchCalls }) => batchCalls <= countedMax),
    deps,
  );
  return rows.map((row): Listed => {
    const redialOf = row.tries === undefined ? row.ancestors.at(-1) : undefined;
    return {
      id: requestIdOf(row.id),
      accepted_at: toIsoTime(row.acceptedAt),
      ...toHeadersView(row),
      total: row.batchCalls,
      ...(redialOf === undefined ? {} : { redial_of: redialOf }),
      known: true,
      ...progress.get(requestIdOf(row.id)),
    };
  });
}

/** Counts small requests together, so that a page takes two reads and one for each further try of a call. */
async function countSmall(
  rows: readonly CallRow[],
  { ledger, clock }: { ledger: Pick<CallLedger, "readWithoutContext">; clock: RouteDeps["clock"] },
): Promise<Map<string, Progress>> {
  const read = (ids: string[]) => ledger.readWithoutContext(ids);
  const ids = rows.flatMap(({ id, batchCalls }) =>
    callIdsOf(requestIdOf(id), 0, batchCalls).filter((one) => one !== id),
  );
  const others = ids.length === 0 ? [] : (await read(ids)).rows;
  const lastTries = await readLastTries<Omit<CallRow, "version">>([...rows, ...others], read);
  const byRequest = Map.groupBy(lastTries, ([first]) => requestIdOf(first));
  const counted = new Map<string, Progress>();
  for (const { id, batchCalls } of rows) {
    const own = (byRequest.get(requestIdOf(id)) ?? []).map(([, row]) => row);
    counted.set(requestIdOf(id), await countProgress(own, batchCalls, clock.now()));
  }
  return counted;
}
