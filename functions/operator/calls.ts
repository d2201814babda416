import { hashedNumberOf } from "#shared/calls/ids.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { isLaterTry } from "#shared/calls/chain.ts";
import { firstCallIdAt, requestIdOf, timeOfId } from "#shared/calls/ids.ts";
import { attentionStates } from "#shared/calls/states.ts";
import type { ListOf } from "#shared/ports/ledger.ts";
import * as z from "#shared/lib/zod.ts";
import { answerProblem } from "../api/http/problem.ts";
import { recordAction } from "../api/actions/audit-log.ts";
import { callDetailSchema, callViewSchema, toCallDetail, toCallView } from "./call-view.ts";
import { callCursor } from "../api/http/cursors.ts";
import {
  instant,
  limit,
  anyName,
  nextCursor,
  phoneNumber,
  requestId,
  state,
  time,
  toIsoTime,
} from "../api/http/fields.ts";
import { findCall } from "./find-call.ts";
import { findHeldNow } from "./held-now.ts";
import { listAhead } from "./list-ahead.ts";
import { listByNumber } from "./list-by-number.ts";
import { findRequestList, hasNames, listByRequest } from "./list-by-request.ts";
import { declareRoute } from "../api/http/route.ts";
import { lookUpText, refuseLookUp } from "./look-up.ts";
import { type ListPage, type Position, type Scan, scan } from "./scan.ts";
import type { RouteDeps } from "../api/http/context.ts";

/** Maximum other calls to a number that are shown beside a call. */
const sameNumberMax = 20;

/** Names that requests are listed by. */
export const requestNames = {
  client: z.optional(anyName),
  campaign: z.optional(anyName).check(z.describe("`Call-Campaign` of the request")),
  agent_id: z.optional(anyName),
};

/** Field of a list's answer: how far back it has looked. */
export const lookedUntil = z
  .nullable(time)
  .check(
    z.describe(
      "How far back this page has looked: when the oldest call that it looked at was accepted. Null: it has looked at all",
    ),
  );

/** Fields by which calls are filtered, in lists and by actions on many calls. */
export const filterShape = {
  state: z.optional(state),
  request_id: z.optional(requestId),
  ...requestNames,
  account: z.optional(anyName),
  reason: z.optional(anyName),
  provider_call_id: z.optional(anyName),
  from: z.optional(instant).check(z.describe("Accepted then or later")),
  until: z.optional(instant).check(z.describe("Accepted earlier")),
};
const filters = z.strictObject({
  ...filterShape,
  held_now: z
    .optional(z.literal("true"))
    .check(
      z.describe(
        "Adds what each waiting call waits for now. Its `reason` is what it waited for when it was last tried",
      ),
    ),
  cursor: z.optional(callCursor),
  limit,
});
type Filters = z.output<typeof filters>;
export type CallFilter = Omit<Filters, "held_now" | "cursor" | "limit">;

const listedCallSchema = z
  .strictObject({
    ...callViewSchema.shape,
    held_now: z
      .optional(z.strictObject({ reason: z.string(), name: z.string() }))
      .check(z.describe("What holds a waiting call now, as `why` says; only with `held_now`")),
  })
  .check(z.meta({ id: "ListedCall" }));

const callsSchema = z.strictObject({
  calls: z.array(listedCallSchema),
  cursor: nextCursor,
  looked_until: lookedUntil,
  unreadable: z
    .optional(z.int())
    .check(
      z.describe(
        "Calls left out because only a later version of the service can read them; absent if there are none",
      ),
    ),
});
export type CallsPage = z.infer<typeof callsSchema>;

const listCalls = declareRoute({
  operationId: "listCalls",
  summary: "List calls, newest first",
  description:
    "An index finds the calls of a state, a request, a client, a campaign or an agent. By other filters alone each page looks " +
    "through 1,000 calls: it may be empty, and the next page may still have some.",
  method: "get",
  path: "/calls",
  query: filters,
  answer: callsSchema,
  async handle({ deps, query }) {
    const { list, isCursor } = findList(query, deps);
    return pageOf({ list, isCursor }, query, deps);
  },
});

/** Returns the list in which the calls of a filter are found soonest. */
export function findList(
  filter: CallFilter,
  { ledger, documents }: Pick<RouteDeps, "ledger" | "documents">,
): { list: ListPage; isCursor?: Scan["isCursor"] } {
  const { request_id, state: chosen, reason } = filter;
  const listOf = (of: ListOf) => ({ list: (page: Position) => ledger.list({ ...of, ...page }) });
  if (request_id !== undefined) return listOf({ requestId: request_id });
  // Few calls are in these states.
  if (chosen !== undefined && attentionStates.includes(chosen)) return listOf({ state: chosen });
  if (chosen === "WAITING" && reason === "call_back")
    return { list: listAhead({ ledger, documents }) };
  const names = findRequestList(filter);
  if (names === undefined) return listOf(chosen === undefined ? { all: true } : { state: chosen });
  return {
    list: (page) => listByRequest(ledger, names, page),
    // A call's tries stand before it, and are on one page with it.
    isCursor: (row) => !isLaterTry(row),
  };
}

/** True if a row fits all fields of a filter. */
export function fitsFilter(row: CallRow, filter: CallFilter): boolean {
  const { request_id, account, reason, provider_call_id, from = 0, until = Infinity } = filter;
  return (
    row.acceptedAt >= from &&
    row.acceptedAt < until &&
    (filter.state === undefined || row.state === filter.state) &&
    (request_id === undefined || requestIdOf(row.id) === request_id) &&
    hasNames(row, filter) &&
    (account === undefined || row.route?.account === account) &&
    (reason === undefined || row.reason === reason) &&
    (provider_call_id === undefined || row.providerCallId === provider_call_id)
  );
}

/** Lists calls to a number. The number is in the body, as logs may contain URLs. */
const searchCalls = declareRoute({
  operationId: "searchCalls",
  summary: "List calls to a number, and to those that may be the same phone",
  method: "post",
  description: lookUpText,
  role: "find",
  path: "/calls/search",
  body: z.strictObject({ phone_number: phoneNumber, ...filters.shape }),
  answer: callsSchema,
  problems: [429],
  async handle({ c, deps, body: { phone_number, ...rest } }) {
    const refused = await refuseLookUp(c, phone_number, deps);
    if (refused !== undefined) return refused;
    const hashes = deps.numbers.all(phone_number).asked;
    return pageOf({ list: (page) => listByNumber(deps.ledger, hashes, page) }, rest, deps);
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
  summary: `Other calls to the number of a call, newest first, at most ${sameNumberMax}`,
  method: "get",
  path: "/calls/:id/same-number",
  answer: sameNumberSchema,
  problems: [404],
  async handle({ c, deps }) {
    const row = await findCall(c, deps);
    if (row instanceof Response) return row;
    const { client, mode, request, numberHash } = row;
    const known =
      request === null ? [] : deps.numbers.all(hashedNumberOf({ client, mode, request })).asked;
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

const revealCall = declareRoute({
  operationId: "revealCall",
  summary: "Show the number and context of a call; recorded",
  method: "post",
  role: "reveal",
  path: "/calls/:id/reveal",
  answer: revealedSchema,
  problems: [404, 409],
  async handle({ c, deps }) {
    const row = await findCall(c, deps);
    if (row instanceof Response) return row;
    if (row.request === null) {
      return answerProblem(c, 409, {
        detail: "The call is placed: its number and context are erased.",
      });
    }
    await recordAction(c, { action: "reveal", target: row.id }, deps);
    const { phone_number, context = {}, timezone = null } = row.request;
    return { phone_number, context, timezone };
  },
});

export const callRoutes = [listCalls, searchCalls, showCall, listSameNumber, revealCall];

/** Returns a page of the rows that fit all filters, newest first. */
async function pageOf(
  { list, isCursor }: { list: ListPage; isCursor?: Scan["isCursor"] },
  query: Filters,
  deps: RouteDeps,
): Promise<CallsPage> {
  const { cursor, from = 0, until = Infinity } = query;
  const fits = (row: CallRow) => fitsFilter(row, query);
  const before = cursor ?? (until === Infinity ? undefined : firstCallIdAt(until));
  const scanned = await scan(list, { before, from, fits, isCursor, limit: query.limit });
  const { rows, next, unreadable } = scanned;
  const held = query.held_now === undefined ? undefined : await findHeldNow(rows, deps);
  return {
    calls: rows.map((row) => {
      const { reason, name = "" } = held?.get(row.id) ?? {};
      return { ...toCallView(row), ...(reason !== undefined && { held_now: { reason, name } }) };
    }),
    ...(next === undefined ? {} : { cursor: next }),
    looked_until: next === undefined ? null : toIsoTime(timeOfId(next)),
    ...(unreadable === 0 ? {} : { unreadable }),
  };
}
