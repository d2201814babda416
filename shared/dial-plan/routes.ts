import { type Route } from "../calls/route.ts";
import type * as z from "../lib/zod.ts";
import { defaultCallsPerSecond, defaultTimeoutSeconds } from "../providers/routes.ts";
import { type Pace, toPace } from "../telephony/rate.ts";
import { accountSchema, type DialPlan } from "./plan-schema.ts";

/** Returns the route of an agent: its own, or that of `*`. */
export function findRoute(agentId: string, { agents }: DialPlan): Route | undefined {
  if (last?.agents !== agents || last.agentId !== agentId) {
    const route = Object.hasOwn(agents, agentId) ? agents[agentId] : agents["*"];
    last = { agents, agentId, route };
  }
  return last.route;
}

/** The last result: the calls of a batch are mostly of one agent, and decisions on one call ask several times. */
let last: { agents: DialPlan["agents"]; agentId: string; route: Route | undefined } | undefined;

const defaultAccount = accountSchema.parse({});

/** The settings of an account, as a dial plan has them. Without a `pace` it takes calls without a rate limit. */
type AccountSettings = Omit<
  z.infer<typeof accountSchema>,
  "type" | "baseUrl" | "timeoutSeconds" | "callsPerSecond" | "burst"
> & { timeoutSeconds: number; pace?: Pace };

/** Returns the settings of the account that a route dials through. */
export function accountOf(route: Route, { providers }: DialPlan): AccountSettings {
  const {
    type: _type,
    baseUrl: _baseUrl,
    timeoutSeconds = defaultTimeoutSeconds(route),
    callsPerSecond = defaultCallsPerSecond(route),
    burst,
    ...account
  } = providers[route.provider] ?? defaultAccount;
  return callsPerSecond === undefined
    ? { ...account, timeoutSeconds }
    : { ...account, timeoutSeconds, pace: toPace(callsPerSecond, burst) };
}

/** Returns the type of an account by its name in routes; undefined if the plan knows no such account. */
export function findAccountType(
  account: string,
  { agents, providers }: DialPlan,
): string | undefined {
  const own = Object.hasOwn(providers, account) ? providers[account] : undefined;
  if (own !== undefined) return own.type ?? account;
  return Object.values(agents).find(({ provider }) => provider === account)?.type;
}

/** Returns the time limit for an answer of the route's provider, in seconds. */
export function findTimeoutSeconds(route: Route, { providers }: DialPlan): number {
  return providers[route.provider]?.timeoutSeconds ?? defaultTimeoutSeconds(route);
}
