import {
  accountNameOf,
  planAccountOf,
  type Route,
  sandboxType,
  toSandboxRoute,
} from "../calls/call-request.ts";
import { getOrMake } from "../lib/get-or-make.ts";
import type * as z from "../lib/zod.ts";
import type { AccountName, ClientOfMode, Mode } from "../calls/ids.ts";
import { isPlannedType, type ProviderType } from "../calls/provider-types.ts";
import { type Pace, toPace } from "../telephony/rate.ts";
import { accountSchema } from "./account-schema.ts";
import { type Check, findCheck } from "./checks.ts";
import { findAgentRoute } from "./dial-plan.ts";
import type { DialPlan } from "./plan-schema.ts";
import type { RouteKinds } from "./route-kinds.ts";

/** Settings of an account that rules ask as the plan has them. */
type Limits = Omit<
  z.infer<typeof accountSchema>,
  "type" | "baseUrl" | "timeoutSeconds" | "callsPerSecond" | "burst"
>;

/** The account that calls along a route are placed under, with its settings and their defaults. */
export interface ResolvedAccount extends Limits {
  /** Name of its documents, slots and dispatches. Each host of a webhook is an account of its own. */
  name: string;
  /** Name in the plan's `providers`. The account of test calls has the settings of the account that they stand for. */
  planned: AccountName;
  mode: Mode;
  timeoutSeconds: number;
  /** Undefined: no rate limit. */
  pace: Pace | undefined;
}

/** The routes and accounts of a plan, each made once, and its checks. It is made with the settings, so that another plan has another. */
export interface RouteTable {
  plan: DialPlan;
  kinds: RouteKinds;
  /**
   * Returns the route of a client's calls to an agent: the agent's own, or else that of `*`. A test client's calls have the
   * sandbox's route in its place, whatever the plan says, and nobody else's have it.
   */
  find(of: ClientOfMode & { agentId: string }): Route | undefined;
  /** Returns the account of a route of the plan, or of a row's own route, whose account the plan may have lost. */
  account(route: Route): ResolvedAccount;
  /** Returns a check of the plan. Undefined: it has none of this name, though a row's own route may name it. */
  check(name: string): Check | undefined;
}

/** Maximum accounts that a table remembers. Rows may have routes to hosts that the plan has no more. */
const accountsMax = 10_000;

export function createRouteTable(plan: DialPlan, kinds: RouteKinds): RouteTable {
  const accountsByRoute = new WeakMap<Route, ResolvedAccount>();
  const accounts = new Map<string, ResolvedAccount>();
  /** Routes of test clients, by the client and by the agent's own route, of which a plan has few. */
  const sandboxes = new Map<string, Map<Route, Route>>();

  function findAccount(route: Route): ResolvedAccount {
    const { provider, account: named, url = "" } = route;
    const key = `${provider} ${named} ${url}`;
    const account = accounts.get(key) ?? resolveAccount(route, plan, kinds);
    if (accounts.size >= accountsMax) accounts.clear();
    accounts.set(key, account);
    return account;
  }

  return {
    plan,
    kinds,
    find({ client, mode, agentId }) {
      const own = findAgentRoute(agentId, plan);
      if (own === undefined || mode === "live") return own;
      const ofClient = getOrMake(sandboxes, client, () => new Map<Route, Route>());
      return getOrMake(ofClient, own, () => toSandboxRoute(client, own));
    },
    check: (name) => findCheck(name, plan),
    account: (route) => getOrMake(accountsByRoute, route, findAccount),
  };
}

function resolveAccount(route: Route, plan: DialPlan, kinds: RouteKinds): ResolvedAccount {
  const isTest = route.provider === sandboxType;
  const planned = isTest ? planAccountOf(route) : route.account;
  const type = isTest ? (findAccountType(planned, plan) ?? sandboxType) : route.provider;
  const settings = plan.providers[planned] ?? accountSchema.parse({});
  const {
    type: _,
    baseUrl: __,
    callsPerSecond = kinds.defaultCallsPerSecond({ provider: type }),
    burst,
    ...limits
  } = settings;
  return {
    ...limits,
    name: accountNameOf(route),
    planned,
    mode: isTest ? "test" : "live",
    timeoutSeconds: settings.timeoutSeconds ?? kinds.defaultTimeoutSeconds({ provider: type }),
    pace: callsPerSecond === undefined ? undefined : toPace(callsPerSecond, burst),
  };
}

/** Returns the kind of provider of the account that routes call by this name; undefined if the plan has none. */
export function findAccountType(
  account: AccountName,
  { agents, providers }: DialPlan,
): ProviderType | undefined {
  const own = Object.hasOwn(providers, account) ? providers[account] : undefined;
  const type = own?.type ?? account;
  if (own !== undefined) return isPlannedType(type) ? type : undefined;
  return Object.values(agents).find((one) => one.account === account)?.provider;
}
