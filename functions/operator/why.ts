import { unreadable } from "#shared/ports/unreadable.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import { parseSplitMark } from "#shared/calls/split-mark.ts";
import { divideReason } from "#shared/calls/reasons.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import { agentsOf } from "#shared/dial-plan/splits.ts";
import * as z from "#shared/lib/zod.ts";
import { hourMs } from "#shared/lib/units.ts";
import { holderNameText, listHolding } from "#shared/rules/texts.ts";
import { countHolders, endOf } from "./forecast/expected-ends.ts";
import { type CallNow, readWaitingNow, type WaitingNow } from "./forecast/waiting-now.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { anyName, requestId, time, toIsoTime } from "../api/http/fields.ts";
import { declareRoute } from "../api/http/route.ts";
import { findRequests } from "./campaigns.ts";
import { toCallNow } from "./held-now.ts";
import { limitsOf, limitsSchema } from "./limits.ts";
import { paceText } from "./plan-texts.ts";

/** Maximum holders, and accounts, of one answer. */
const holdersMax = 50;
const accountsMax = 20;

const holderFields = {
  reason: z.string().check(z.describe(`What holds the calls now: as in a row (${listHolding()})`)),
  name: z.string().check(z.describe(holderNameText)),
};

/** The holders of waiting calls, each with its calls. */
export const holdersSchema = z
  .array(
    z.strictObject({
      ...holderFields,
      calls: z.int(),
      is_exact: z
        .boolean()
        .check(
          z.describe(
            "False: not all of the calls were read. Each of the others is counted like the call before it that was read",
          ),
        ),
    }),
  )
  .check(z.describe(`The most calls first, at most ${holdersMax}`));
export type HolderView = z.infer<typeof holdersSchema>[number];

const accountSchema = z.strictObject({
  account: z.string().check(z.describe("The account's name in the plan")),
  name: z.string().check(z.describe("Its own name, such as that of a webhook's host")),
  calls: z.int().check(z.describe("Of the calls that were asked for")),
  waiting: z.int().check(z.describe("All calls that wait for the account")),
  holders: holdersSchema,
  pace: z.string().check(z.describe("In words")),
  seen_pace: z
    .nullable(z.string())
    .check(
      z.describe("As fast as it was seen to take calls, where that is slower; null otherwise"),
    ),
  limits: limitsSchema,
  next_hour: z
    .strictObject({ own: z.int(), all: z.int() })
    .check(
      z.describe(
        "Calls that it is expected to take within an hour: of those that were asked for, and in all",
      ),
    ),
});
type AccountNow = z.infer<typeof accountSchema>;

const whySchema = z.strictObject({
  at: time.check(z.describe("When the calls were read, at most five seconds ago")),
  calls: z.int().check(z.describe("Calls that wait")),
  is_whole: z.boolean().check(z.describe("False where more wait than are read: 50,000")),
  about: z
    .nullable(z.strictObject({ calls: z.int(), at: time }))
    .check(
      z.describe(
        "About how many calls wait in all, as last counted. Null: `calls` has all, the question was about some of the calls, or none were counted yet",
      ),
    ),
  rows_read: z
    .int()
    .check(
      z.describe(
        "Calls whose rows were read: all, or up to 1,000 that lie evenly over all backlogs",
      ),
    ),
  holders: holdersSchema,
  expected_end_at: z
    .nullable(time)
    .check(
      z.describe("When the last of them is expected to go, or to end otherwise; null: not known"),
    ),
  end_waits_for: z
    .array(z.strictObject({ ...holderFields, seconds: z.int() }))
    .check(
      z.describe("What the last of the calls waits for until `expected_end_at`, and for how long"),
    ),
  accounts: z.array(accountSchema).check(z.describe("The most calls first")),
});
export type Why = z.infer<typeof whySchema>;

const explainWaiting = declareRoute({
  operationId: "explainWaiting",
  summary:
    "Explain why calls wait: what holds them now, in calls, and how much of their accounts they get",
  description:
    "Of all calls, or of a call, a request, a campaign, a client, an agent or an account. Every view of the page asks this.",
  method: "get",
  path: "/why",
  query: z.strictObject({
    call_id: z.optional(anyName),
    request_id: z.optional(requestId),
    campaign: z.optional(anyName),
    client: z.optional(anyName),
    agent_id: z.optional(anyName),
    account: z.optional(anyName).check(z.describe("Its name in the plan, or its own")),
  }),
  answer: whySchema,
  async handle({ deps, query }) {
    const waiting = await readWaitingNow(deps);
    const own = await findAsked(waiting, query, deps);
    const isAll = Object.values(query).every((of) => of === undefined);
    return { ...toWhy(own, waiting), about: isAll ? aboutIn(waiting) : null };
  },
});

export const whyRoutes = [explainWaiting];

interface Asked {
  call_id?: string | undefined;
  request_id?: string | undefined;
  campaign?: string | undefined;
  client?: string | undefined;
  agent_id?: string | undefined;
  account?: string | undefined;
}

/** Returns the waiting calls that are asked about. */
async function findAsked(
  waiting: WaitingNow,
  { call_id, request_id, campaign, client, agent_id, account }: Asked,
  deps: RouteDeps,
): Promise<readonly CallNow[]> {
  if (call_id !== undefined) return findCall(call_id, waiting, deps);
  const agents = agent_id === undefined ? [] : agentsOf(agent_id, deps.plan);
  const isOfAgent = ({ agentId, split }: CallNow) =>
    agents.includes(agentId) || (split !== undefined && parseSplitMark(split).name === agent_id);
  const ofCampaign =
    campaign === undefined ? undefined : await readRequests({ campaign, client }, deps);
  return waiting.calls.filter(
    (call) =>
      (request_id === undefined || call.requestId === request_id) &&
      (ofCampaign === undefined || ofCampaign.has(call.requestId)) &&
      (client === undefined || call.client === client) &&
      (agent_id === undefined || isOfAgent(call)) &&
      (account === undefined || [call.account?.name, call.account?.planned].includes(account)),
  );
}

async function readRequests(
  of: { campaign: string; client: string | undefined },
  { ledger }: RouteDeps,
): Promise<Set<string>> {
  const { found } = await findRequests(of, ledger);
  return new Set(found.map(({ id }) => requestIdOf(id)));
}

async function findCall(id: string, waiting: WaitingNow, deps: RouteDeps): Promise<CallNow[]> {
  const row = (await deps.ledger.read([id])).get(id);
  if (row === undefined || row === unreadable) return [];
  return [toCallNow(row, waiting)].filter((one) => one !== undefined);
}

/** Explains some of the calls that wait. */
function toWhy(own: readonly CallNow[], waiting: WaitingNow): Omit<Why, "about"> {
  const { at, rowsRead, agentsCut, isCut } = waiting;
  const isWhole = !isCut && !own.some(({ agentId }) => agentsCut.has(agentId));
  const end = endOf(own, { agentsCut, isCut });
  return {
    at: toIsoTime(at),
    calls: own.length,
    is_whole: isWhole,
    rows_read: rowsRead,
    holders: toHolderViews(own),
    expected_end_at: own.length === 0 ? null : toIsoTime(end.at),
    end_waits_for: end.delays.map((delay) => {
      const { reason } = divideReason(delay.reason);
      return { reason, name: delay.rule, seconds: Math.round(delay.ms / 1000) };
    }),
    accounts: toAccounts(own, waiting),
  };
}

/** Returns how many calls waited at the last visit of all backlogs, where more wait than were read since. */
function aboutIn({ counted, calls, agentsCut, isCut }: WaitingNow): Why["about"] {
  const isWhole = agentsCut.size === 0 && !isCut;
  if (counted === undefined || isWhole || counted.calls <= calls.length) return null;
  return { calls: counted.calls, at: toIsoTime(counted.at) };
}

/** Counts calls by what holds them, as answers show it. */
export function toHolderViews(calls: readonly CallNow[]): HolderView[] {
  return countHolders(calls)
    .slice(0, holdersMax)
    .map(({ isExact: is_exact, ...holder }) => ({ ...holder, is_exact }));
}

function toAccounts(own: readonly CallNow[], waiting: WaitingNow): AccountNow[] {
  const byName = (calls: readonly CallNow[]) => Map.groupBy(calls, ({ account }) => account?.name);
  const all = byName(waiting.calls);
  const soon = waiting.at + hourMs;
  const goSoon = (calls: readonly CallNow[]) =>
    calls.filter(({ endsAt, isDialed }) => isDialed && endsAt !== null && endsAt <= soon).length;
  return [...byName(own)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, accountsMax)
    .flatMap(([name, calls]): AccountNow[] => {
      const account = calls[0]?.account;
      if (account === undefined || name === undefined) return [];
      const others = all.get(name) ?? calls;
      return [
        {
          account: account.planned,
          name,
          calls: calls.length,
          waiting: Math.max(others.length, calls.length),
          holders: toHolderViews(calls),
          ...pacesOf(account, waiting),
          limits: limitsOf(account, { documents: waiting.read.documents, now: waiting.at }),
          next_hour: { own: goSoon(calls), all: goSoon(others) },
        },
      ];
    });
}

/** Returns the pace of an account, and the one that was seen, in words. */
function pacesOf(
  { name, pace }: ResolvedAccount,
  { read: { seenPaces } }: WaitingNow,
): { pace: string; seen_pace: string | null } {
  const perSecond = (of: { intervalUs: number } | undefined) => of && 1_000_000 / of.intervalUs;
  const seen = seenPaces.get(name);
  return {
    pace: paceText(perSecond(pace), pace?.burst ?? 1),
    seen_pace: seen === undefined ? null : paceText(perSecond(seen), 1),
  };
}
