import type { RouteTable } from "#shared/dial-plan/route-table.ts";
import { listRegions } from "#shared/dial-plan/plan-hours.ts";
import { allowedCountries, impliedCountry } from "#shared/dial-plan/implied-country.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { findDispatched, dispatcherKey } from "#shared/policy/dispatcher.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import * as z from "#shared/lib/zod.ts";
import { accountNameOf, type Route } from "#shared/calls/call-request.ts";
import { declareRoute } from "../api/http/route.ts";
import { time, toIsoTime } from "../api/http/fields.ts";
import { capsText, destinationsText, hoursText, paceText } from "./plan-texts.ts";
import { countEqual } from "./request-progress.ts";
import { countedKeys, takenUntil } from "#shared/rules/gates.ts";
import { listKeys } from "#shared/rules/rule.ts";
import { limitsOf, limitsSchema } from "./limits.ts";

/** Maximum counted requests under way. */
const dialingMax = 1_000;

const agentSchema = z.strictObject({
  agent_id: z.string().check(z.describe("`*` means every agent that the plan does not name")),
  account: z.string().check(z.describe("The account's name in the plan")),
  provider: z.string(),
  hours: z.string().check(z.describe("In words")),
  calls: z.nullable(z.string()).check(z.describe("The caps that its hours bring, in words")),
  checks: z.array(z.string()).check(z.describe("The checks that are asked before its calls")),
});
const accountSchema = z.strictObject({
  account: z.string().check(z.describe("The account's name in the plan")),
  name: z.string().check(z.describe("Its own name, such as that of a webhook's host")),
  provider: z.string(),
  pace: z.string().check(z.describe("In words")),
  timeout_seconds: z.int(),
  dialing: z.int().check(z.describe(`Requests under way, among ${dialingMax} that were looked at`)),
  taken_until: z
    .nullable(time)
    .check(
      z.describe(
        "Permits of the pace are taken until this time: the next call goes then. Null: a call could go at once, or there is no pace",
      ),
    ),
  allowance: z
    .nullable(z.int())
    .check(
      z.describe(
        "How many calls the dispatcher was able to dispatch in its last tick; null: there was none yet",
      ),
    ),
  limits: limitsSchema,
});
const planSchema = z
  .strictObject({
    agents: z.array(agentSchema),
    splits: z.array(z.string()).check(z.describe("Agents whose calls are divided among others")),
    accounts: z.array(accountSchema),
    rules: z
      .array(
        z.strictObject({
          destination: z.string().check(z.describe("The country or region that it applies to")),
          hours: z.nullable(z.string()),
          calls: z.nullable(z.string()),
        }),
      )
      .check(z.describe("Rules that apply besides those of the agents, in words")),
    destinations: z.string(),
    blackout_dates: z.array(z.string()),
    default_time_zone: z.nullable(z.string()),
    default_country: z
      .nullable(z.string())
      .check(
        z.describe(
          "The country of numbers without a country code: that of the default zone, or the only one that may be called",
        ),
      ),
    countries: z
      .nullable(z.array(z.string()))
      .check(z.describe("The countries that may be called; null: all")),
    expire_after_hours: z.number(),
    review_after_seconds: z.int(),
    retention_days: z.number(),
  })
  .check(z.meta({ id: "PlanTexts" }));
export type PlanTexts = z.infer<typeof planSchema>;
type AccountInUse = z.infer<typeof accountSchema>;

const showPlan = declareRoute({
  operationId: "showPlan",
  summary: "The dial plan in words, and how far each account's pace is used",
  method: "get",
  path: "/plan",
  answer: planSchema,
  async handle({ deps: { plan, settings, ledger, documents, clock } }) {
    const { table } = settings;
    const accounts = accountsIn(plan);
    const targets = accounts.map(({ route }) => ({
      target: { route, account: table.account(route) },
    }));
    const now = clock.now();
    const [read, dialing] = await Promise.all([
      documents.read([dispatcherKey, ...listKeys(countedKeys, targets, now)]),
      dialingNow(ledger),
    ]);
    return {
      agents: Object.entries(plan.agents).map(([agent_id, { account, provider, ...route }]) => {
        const hours = route.callingHours ?? "default";
        return {
          agent_id,
          account,
          provider,
          hours: hoursText(hours, plan),
          calls: capsText(hours, undefined, plan) ?? null,
          checks: route.checks ?? [],
        };
      }),
      splits: Object.keys(plan.splits),
      accounts: accounts.map((one) => toAccountView(one, { table, read, dialing, now })),
      rules: rulesIn(plan),
      destinations: destinationsText(plan),
      blackout_dates: plan.blackoutDates,
      default_time_zone: plan.defaultTimeZone ?? null,
      default_country: impliedCountry(plan) ?? null,
      countries: allowedCountries(plan) ?? null,
      expire_after_hours: plan.expireAfterHours,
      review_after_seconds: plan.reviewAfterSeconds,
      retention_days: plan.retentionDays,
    };
  },
});

export const planRoutes = [showPlan];

/** Returns the accounts of the plan's agents, by `accountNameOf`. */
function accountsIn({ agents }: DialPlan): { name: string; route: Route }[] {
  const byName = new Map(Object.values(agents).map((route) => [accountNameOf(route), route]));
  return [...byName].map(([name, route]) => ({ name, route }));
}

/** Facts about the use of an account's pace. */
interface AccountFacts {
  table: RouteTable;
  read: DocumentsRead;
  /** Requests under way by account. */
  dialing: Partial<Record<string, number>>;
  now: number;
}

function toAccountView(
  { name, route }: { name: string; route: Route },
  { table, read, dialing, now }: AccountFacts,
): AccountInUse {
  const resolved = table.account(route);
  const { timeoutSeconds, pace } = resolved;
  const { allowance = null } = findDispatched(name, read) ?? {};
  const facts = { documents: read, now };
  const until = takenUntil(resolved, facts);
  return {
    account: route.account,
    name,
    provider: route.provider,
    pace: paceText(pace && 1_000_000 / pace.intervalUs, pace?.burst ?? 1),
    timeout_seconds: timeoutSeconds,
    dialing: dialing[name] ?? 0,
    taken_until: until <= now ? null : toIsoTime(until),
    allowance,
    limits: limitsOf(resolved, facts),
  };
}

/** Counts the requests under way by account. */
async function dialingNow(ledger: CallLedger): Promise<Partial<Record<string, number>>> {
  return countEqual((await ledger.dialing(dialingMax)).map(({ account }) => account));
}

function rulesIn(plan: DialPlan) {
  const { maxCalls, countries } = plan;
  const ruleOf = (destination: string, rule: (typeof countries)[string]) => ({
    destination,
    hours: rule.callingHours === undefined ? null : hoursText(rule.callingHours, plan),
    calls: capsText(rule.callingHours, rule.maxCalls, plan) ?? null,
  });
  return [
    ...(maxCalls === undefined ? [] : [ruleOf("any number", { maxCalls })]),
    ...Object.entries(countries).map(([name, rule]) => ruleOf(`numbers of ${name}`, rule)),
    ...listRegions(plan).map(([name, { callingHours, maxCalls: cap }]) =>
      ruleOf(`numbers of ${name}`, { callingHours, maxCalls: cap }),
    ),
  ];
}
