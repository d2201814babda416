import { UnreadableError } from "#shared/ports/unreadable.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { isLaterTry } from "#shared/calls/chain.ts";
import { requestIdOf, toCallId } from "#shared/calls/ids.ts";
import * as z from "#shared/lib/zod.ts";
import { dayMs } from "#shared/lib/units.ts";
import { otherNames, usageCounters } from "#shared/policy/usage.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import type { ExpectedEnd } from "./forecast/expected-ends.ts";
import { readUsage, type Usage } from "../api/actions/read-usage.ts";
import { lastTriesOf } from "../api/actions/request-rows.ts";
import { measures, sumUsage } from "../api/actions/sum-usage.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { anyName, time, toIsoTime } from "../api/http/fields.ts";
import { answerProblem } from "../api/http/problem.ts";
import { declareRoute } from "../api/http/route.ts";
import {
  listFinishedIndexes,
  readEnds,
  requestViewSchema,
  toRequestView,
} from "./request-progress.ts";

/** Days of usage in which campaigns are found. */
const usageDays = 31;
/** Campaigns of a list, the latest, unless more are asked for. */
const campaignsDefault = 100;
const campaignsMax = 10_000;
/** Rows of one page of a campaign's requests, maximum pages, and maximum requests that an answer names. */
const pageRows = 50;
const pagesMax = 10;
const namedMax = 50;
/** Calls of a campaign that are looked at, evenly over its requests: all of most campaigns, as of one request. */
const countedMax = 10_000;

const campaignSchema = z.strictObject({
  name: z.string(),
  client: z.string(),
  requests: z.int(),
  first_accepted_at: time.check(z.describe("Start of the hour of its first call")),
  last_at: time.check(z.describe("Start of the last hour in which something happened")),
  ...measures,
});
const campaignsSchema = z.strictObject({
  campaigns: z.array(campaignSchema).check(z.describe("At most `limit`, the latest first")),
  left_out: z.int(),
  from: time.check(z.describe("Campaigns without calls since then are not listed")),
});
export type Campaigns = z.infer<typeof campaignsSchema>;

const listCampaigns = declareRoute({
  operationId: "listCampaigns",
  summary: `Campaigns of the last ${usageDays} days, and the outcome of their calls`,
  method: "get",
  path: "/campaigns",
  query: z.strictObject({
    client: z.optional(anyName),
    limit: z._default(
      z.coerce.number().check(z.int(), z.minimum(1), z.maximum(campaignsMax)),
      campaignsDefault,
    ),
  }),
  answer: campaignsSchema,
  async handle({ deps, query }) {
    const { usage, from } = await readOfCampaigns(deps);
    const wanted = usage.filter(
      ({ client, labels }) =>
        labels.campaign !== otherNames && (query.client === undefined || client === query.client),
    );
    const groups = Map.groupBy(wanted, ({ client, labels }) =>
      JSON.stringify([client, labels.campaign]),
    );
    const campaigns = [...groups.values()]
      .map(toCampaign)
      .toSorted(
        (one, other) => other.last_at.localeCompare(one.last_at) || other.accepted - one.accepted,
      );
    return {
      campaigns: campaigns.slice(0, query.limit),
      left_out: Math.max(0, campaigns.length - query.limit),
      from: toIsoTime(from),
    };
  },
});

const detailSchema = z.strictObject({
  name: z.string(),
  client: z.string(),
  requests: z
    .array(z.strictObject({ id: z.string(), accepted_at: time, total: z.int() }))
    .check(z.describe(`The newest, at most ${namedMax}`)),
  requests_found: z.int(),
  is_whole: z
    .boolean()
    .check(z.describe("False if there are further requests, which `progress` leaves out")),
  first_accepted_at: time.check(z.describe("Of the requests that were found")),
  /** All its requests as if they were one, whose `id` is that of the newest. */
  progress: requestViewSchema,
  live_calls: z
    .int()
    .check(z.describe("Calls being dialed, and placed ones whose result is still to come; scaled")),
  tries: z.int().check(z.describe("Placed calls, each later try by itself")),
  results: z
    .strictObject(measures)
    .check(z.describe(`Of the last ${usageDays} days; zero where they were counted under *other`)),
  results_from: time.check(
    z.describe("`results` and `tries` begin then: later if there is too much to read"),
  ),
});
export type CampaignDetail = z.infer<typeof detailSchema>;

const showCampaign = declareRoute({
  operationId: "showCampaign",
  summary: "One campaign of a client: progress, expected end, results, tries and cost",
  method: "get",
  // The name is in the query, because a path loses a name such as `..` or `spring/north`.
  path: "/campaign",
  query: z.strictObject({ name: anyName, client: anyName }),
  answer: detailSchema,
  problems: [404],
  async handle({ c, deps, query: { name, client } }) {
    const { ledger, clock } = deps;
    const { found, isWhole } = await findRequests({ client, campaign: name }, ledger);
    const [newest] = found;
    const oldest = found.at(-1);
    if (newest === undefined || oldest === undefined) {
      return answerProblem(c, 404, { detail: "This client has no campaign of this name." });
    }
    const { usage, from } = await readOfCampaigns(deps, isWhole ? oldest.acceptedAt : 0);
    const own = usage.filter((one) => one.client === client && one.labels.campaign === name);
    const results = sumUsage(own);
    const looked = await sampleOf(found, deps);
    const counted = looked.reduce((sum, one) => sum + one.ids.length, 0);
    const total = found.reduce((sum, { batchCalls }) => sum + batchCalls, 0);
    const rows = looked.flatMap((one) => one.rows);
    const ends = await readEnds(looked, deps);
    const end = endOf(looked.map(({ id }) => ends.get(id)));
    return {
      name,
      client,
      requests: found.slice(0, namedMax).map((row) => ({
        id: requestIdOf(row.id),
        accepted_at: toIsoTime(row.acceptedAt),
        total: row.batchCalls,
      })),
      requests_found: found.length,
      is_whole: isWhole,
      first_accepted_at: toIsoTime(oldest.acceptedAt),
      progress: toRequestView(
        { ...newest, batchCalls: total },
        { rows, counted, now: clock.now(), end },
      ),
      live_calls: Math.round((rows.filter(isLive).length * total) / counted),
      tries: results.placed,
      results,
      results_from: toIsoTime(from),
    };
  },
});

export const campaignRoutes = [listCampaigns, showCampaign];

/** Reads the usage of calls with a campaign since a time, newest first. */
async function readOfCampaigns({ clock, documents }: RouteDeps, since = 0) {
  const to = clock.now();
  const from = Math.max(since, to - usageDays * dayMs);
  const read = await readUsage({ from, to }, documents);
  return { ...read, usage: read.usage.filter(({ labels }) => labels.campaign !== undefined) };
}

/** @param own usage of one campaign, newest first */
function toCampaign(own: readonly Usage[]): Campaigns["campaigns"][number] {
  const [last] = own;
  const first =
    own.findLast(({ counters }) => (counters[usageCounters.accepted] ?? 0) > 0) ?? own.at(-1);
  return {
    name: last?.labels.campaign ?? "",
    client: last?.client ?? "",
    requests: own.reduce((sum, { counters }) => sum + (counters[usageCounters.requests] ?? 0), 0),
    first_accepted_at: toIsoTime(first?.hour ?? 0),
    last_at: toIsoTime(last?.hour ?? 0),
    ...sumUsage(own),
  };
}

/**
 * Finds the requests of a campaign, newest first, by the first call of each.
 *
 * @throws UnreadableError if there are some, and only a later version can read them
 */
export async function findRequests(
  of: { client?: string | undefined; campaign: string },
  ledger: CallLedger,
): Promise<{ found: CallRow[]; isWhole: boolean }> {
  const found: CallRow[] = [];
  let skipped = 0;
  let before: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const { rows, unreadable, next } = await ledger.list({ ...of, before, limit: pageRows });
    skipped += unreadable;
    found.push(...rows.filter((row) => !isLaterTry(row)));
    before = next;
    if (next === undefined) break;
  }
  if (found.length === 0 && skipped > 0) throw new UnreadableError("requests of the campaign");
  return { found, isWhole: before === undefined };
}

/** Reads calls that lie evenly over the requests, of each at least one. */
async function sampleOf(
  found: readonly CallRow[],
  { ledger }: RouteDeps,
): Promise<{ id: string; total: number; ids: string[]; rows: CallRow[] }[]> {
  const all = found.reduce((sum, { batchCalls }) => sum + batchCalls, 0);
  const requests = found.map(({ id: first, batchCalls: total }) => {
    const id = requestIdOf(first);
    const most = Math.max(1, Math.round((countedMax * total) / Math.max(all, countedMax)));
    const ids = listFinishedIndexes(total, most).map((index) => toCallId(id, index));
    const rows: CallRow[] = [];
    return { id, total, ids, rows };
  });
  const byId = new Map(requests.map((one) => [one.id, one]));
  const ids = requests.flatMap((one) => one.ids);
  for await (const [first, row] of lastTriesOf(ids, ledger))
    byId.get(requestIdOf(first))?.rows.push(row);
  return requests;
}

/** True if a call is being dialed, or was placed and its result is still to come. */
function isLive({ state, dueAt, next }: CallRow): boolean {
  return state === "DIALING" || (state === "PLACED" && dueAt !== null && next === undefined);
}

/** Returns the latest of the ends, and everything that holds calls. A request without waiting calls has no end. */
function endOf(ends: readonly (ExpectedEnd | undefined)[]): ExpectedEnd | undefined {
  const known = ends.flatMap((end) => end ?? []);
  if (known.length === 0) return undefined;
  const groups = Map.groupBy(
    known.flatMap(({ blockedBy }) => blockedBy),
    ({ reason, name }) => `${reason} ${name}`,
  );
  const blockedBy = [...groups.values()].flatMap(([one, ...others]) =>
    one === undefined
      ? []
      : { ...one, calls: others.reduce((sum, { calls }) => sum + calls, one.calls) },
  );
  const times = known.map(({ at }) => at);
  const isKnown = times.every((at) => at !== null);
  const counts = known.map(({ waiting }) => waiting);
  const isCounted = counts.every((count) => count !== null);
  return {
    at: isKnown ? Math.max(...times) : null,
    waiting: isCounted ? counts.reduce((sum, count) => sum + count, 0) : null,
    blockedBy: blockedBy.toSorted((one, other) => other.calls - one.calls),
  };
}
