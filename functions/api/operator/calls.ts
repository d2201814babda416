import type { CallRow } from "../../../shared/calls/call-row.ts";
import { firstCallIdAt, requestIdOf, timeOfId } from "../../../shared/calls/ids.ts";
import type { ListOf, Page } from "../../../shared/ports/ledger.ts";
import { hashesOf } from "../../../shared/telephony/phone-number.ts";
import * as z from "../../../shared/lib/zod.ts";
import { keyLifetimeMs } from "../calls/idempotency.ts";
import { answerProblem } from "../http/problem.ts";
import { recordAction } from "../actions/audit-log.ts";
import { callDetailSchema, callViewSchema, toCallDetail, toCallView } from "./call-view.ts";
import { callCursor } from "../http/cursors.ts";
import {
  instant,
  limit,
  anyName,
  nextCursor,
  phoneNumber,
  requestId,
  state,
} from "../http/fields.ts";
import { findCall } from "../actions/find-call.ts";
import { listByNumber } from "../actions/list-by-number.ts";
import { declareRoute } from "../http/route.ts";

/** Maximum rows that one answer reads to apply its filters. */
const scanRowsMax = 1000;
const scanPageRows = 50;
/** Cost of a short page that is not the last, in rows, as the ledger has skipped thousands for it. */
const shortPageRows = 250;
/** Maximum other calls to a number that are shown beside a call. */
const sameNumberMax = 20;

const filters = z.strictObject({
  state: z.optional(state),
  request_id: z.optional(requestId),
  agent_id: z.optional(anyName),
  provider: z.optional(anyName),
  reason: z.optional(anyName),
  from: z.optional(instant).check(z.describe("Accepted then or later")),
  until: z.optional(instant).check(z.describe("Accepted earlier")),
  cursor: z.optional(callCursor),
  limit,
});
type Filters = z.output<typeof filters>;

const callsSchema = z.strictObject({
  calls: z.array(callViewSchema),
  cursor: nextCursor,
  unreadable: z
    .optional(z.int())
    .check(
      z.describe(
        "Calls left out, as only a later version of the service can read them; absent where there are none",
      ),
    ),
});
export type CallsPage = z.infer<typeof callsSchema>;

const listCalls = declareRoute({
  operationId: "listCalls",
  summary: "List calls of a state, of a request, or all, newest first",
  method: "get",
  path: "/calls",
  query: filters,
  answer: callsSchema,
  async handle({ deps, query }) {
    let of: ListOf = { all: true };
    if (query.request_id !== undefined) of = { requestId: query.request_id };
    else if (query.state !== undefined) of = { state: query.state };
    return pageOf((page) => deps.ledger.list({ ...of, ...page }), query);
  },
});

/** Lists calls to a number. The number is in the body, as logs may contain URLs. */
const searchCalls = declareRoute({
  operationId: "searchCalls",
  summary: "List calls to a number",
  method: "post",
  role: "see",
  path: "/calls/search",
  body: z.strictObject({ phone_number: phoneNumber, ...filters.shape }),
  answer: callsSchema,
  async handle({ deps, body: { phone_number, ...rest } }) {
    const hashes = hashesOf(phone_number, deps.hashKeys);
    return pageOf((page) => listByNumber(deps.ledger, hashes, page), rest);
  },
});

const showCall = declareRoute({
  operationId: "showCall",
  summary: "One call and its history",
  method: "get",
  path: "/calls/:id",
  answer: callDetailSchema,
  problems: [404],
  async handle({ c, deps }) {
    const row = await findCall(c, deps);
    return row instanceof Response ? row : toCallDetail(row);
  },
});

const sameNumberSchema = z.strictObject({ calls: z.array(callViewSchema) });

/** Lists other calls to a call's number without showing the number. */
const listSameNumber = declareRoute({
  operationId: "listSameNumber",
  summary: `Other calls to its number, newest first, at most ${sameNumberMax}`,
  method: "get",
  path: "/calls/:id/same-number",
  answer: sameNumberSchema,
  problems: [404],
  async handle({ c, deps }) {
    const row = await findCall(c, deps);
    if (row instanceof Response) return row;
    const { request, numberHash } = row;
    const known = request === null ? [] : hashesOf(request.phone_number, deps.hashKeys);
    const hashes = [...new Set([numberHash, ...known])];
    const { rows } = await listByNumber(deps.ledger, hashes, { limit: sameNumberMax + 1 });
    const others = rows.filter(({ id }) => id !== row.id).slice(0, sameNumberMax);
    return { calls: others.map(toCallView) };
  },
});

const revealedSchema = z
  .strictObject({
    phone_number: z.string(),
    context: z.record(z.string(), z.string()),
    timezone: z.nullable(z.string()),
  })
  .check(z.meta({ id: "Revealed" }));
export type Revealed = z.infer<typeof revealedSchema>;

const revealCall = declareRoute({
  operationId: "revealCall",
  summary: "Its number and context; recorded",
  method: "post",
  role: "reveal",
  path: "/calls/:id/reveal",
  answer: revealedSchema,
  problems: [404, 409],
  async handle({ c, deps }) {
    const row = await findCall(c, deps);
    if (row instanceof Response) return row;
    if (row.request === null) {
      return answerProblem(c, 409, { detail: "The call is placed: whom it was to is erased." });
    }
    await recordAction(c, { action: "reveal", target: row.id }, deps);
    const { phone_number, context = {}, timezone = null } = row.request;
    return { phone_number, context, timezone };
  },
});

export const callRoutes = [listCalls, searchCalls, showCall, listSameNumber, revealCall];

/** Returns a page of the rows that fit all filters, newest first. */
async function pageOf(list: ListPage, query: Filters): Promise<CallsPage> {
  const { request_id, agent_id, provider, reason, cursor, from = 0, until = Infinity } = query;
  const fits = (row: CallRow) =>
    row.acceptedAt >= from &&
    row.acceptedAt < until &&
    (query.state === undefined || row.state === query.state) &&
    (request_id === undefined || requestIdOf(row.id) === request_id) &&
    (agent_id === undefined || row.agentId === agent_id) &&
    (provider === undefined || row.route?.provider === provider) &&
    (reason === undefined || row.reason === reason);
  const before = cursor ?? (until === Infinity ? undefined : firstCallIdAt(until));
  const scanned = await scan(list, { before, from, fits, limit: query.limit });
  const { rows, next, unreadable } = scanned;
  return {
    calls: rows.map(toCallView),
    ...(next === undefined ? {} : { cursor: next }),
    ...(unreadable === 0 ? {} : { unreadable }),
  };
}

/** Lists a page of the calls that are looked through, newest first. */
type ListPage = (page: { before?: string | undefined; limit: number }) => Promise<Page>;

interface Scan {
  /** The scan begins below this id. Undefined: at the newest call. */
  before: string | undefined;
  /** Milliseconds since the epoch. Calls accepted earlier do not match. */
  from: number;
  fits(row: CallRow): boolean;
  limit: number;
}

/**
 * Reads rows until enough of them match. More may follow below `next`. `unreadable` counts rows that this version
 * cannot read.
 */
export async function scan(
  list: ListPage,
  { before, from, fits, limit: rowsMax }: Scan,
): Promise<{ rows: CallRow[]; unreadable: number; next?: string | undefined }> {
  const rows: CallRow[] = [];
  let unreadable = 0;
  let next = before;
  for (let looked = 0; looked < scanRowsMax;) {
    const page = await list({ before: next, limit: scanPageRows });
    unreadable += page.unreadable;
    for (const row of page.rows) {
      if (isEarlier(row.id, from)) return { rows, unreadable };
      if (fits(row)) rows.push(row);
      if (rows.length === rowsMax) return { rows, unreadable, next: row.id };
    }
    if (page.next === undefined) return { rows, unreadable };
    next = page.next;
    if (isEarlier(next, from)) return { rows, unreadable };
    looked += page.rows.length < scanPageRows ? shortPageRows : scanPageRows;
  }
  return { rows, unreadable, next };
}

/** True if calls up to this id were certainly accepted before `from`. */
function isEarlier(id: string, from: number): boolean {
  // A repeat under an Idempotency-Key is accepted later than the time in the call's id.
  return timeOfId(id) + keyLifetimeMs < from;
}
