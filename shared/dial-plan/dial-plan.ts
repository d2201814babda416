import { type Call, type CallRequest, type Route, sandboxType } from "../calls/call-request.ts";
import { costlyServiceOf, countryOf } from "../telephony/phone-number.ts";
import type { DialPlan } from "./plan-schema.ts";
import type { CallBackRule, RetryRule } from "./retry-rules.ts";

/** Returns the agent's rule of retries, or else that of `*`. Undefined: its calls are tried once. */
export function findRetry(
  agentId: string,
  { agents, retries }: Pick<DialPlan, "agents" | "retries">,
): RetryRule | undefined {
  return findRule(agentId, agents, retries);
}

/** Returns the agent's rule of call-backs, or else that of `*`. Undefined: nobody is called back. */
export function findCallBacks(
  agentId: string,
  { agents, callBacks }: Pick<DialPlan, "agents" | "callBacks">,
): CallBackRule | undefined {
  return findRule(agentId, agents, callBacks);
}

function findRule<Rule>(
  agentId: string,
  agents: DialPlan["agents"],
  rules: Record<string, Rule>,
): Rule | undefined {
  const name = Object.hasOwn(agents, agentId) ? agentId : "*";
  return Object.hasOwn(rules, name) ? rules[name] : undefined;
}

/**
 * Returns a call as the first of the tries and call-backs that its agent's rules allow. A redial by an operator is the only
 * one.
 */
export function withTries(call: Call, plan: DialPlan): Call {
  if (call.tries !== undefined || call.ancestors !== undefined) return call;
  const retry = findRetry(call.request.agent_id, plan);
  const rule = findCallBacks(call.request.agent_id, plan);
  if (retry === undefined && rule === undefined) return call;
  const { attempts = 1, within = 0 } = retry ?? {};
  const tries = { number: 1, budget: attempts, until: call.acceptedAt + within, dialedAt: [] };
  if (rule === undefined) return { ...call, tries };
  const callBacks = { most: rule.most, made: 0, until: call.acceptedAt + rule.within };
  return { ...call, tries: { ...tries, callBacks } };
}

/** True if the plan permits calls to this number. */
export function mayBeCalled(
  { phone_number }: Pick<CallRequest, "phone_number">,
  { destinations: { allow, deny, allowServices } }: DialPlan,
): boolean {
  // A number never begins with the letters of a country, so one comparison serves for both.
  if (deny.some((prefix) => phone_number.startsWith(prefix))) return false;
  const service = costlyServiceOf(phone_number);
  if (service !== undefined && !allowServices.includes(service)) return false;
  const all = allow.includes("*");
  if (all && deny.every((prefix) => prefix.startsWith("+"))) return true;
  const country = countryOf(phone_number);
  if (country === undefined) return all;
  return (all || allow.includes(country)) && !deny.includes(country);
}

/** True if the plan permits a call to its number. Test calls, which reach nobody, may go to every number that they have. */
export function mayBeDialed(
  { mode, request }: Pick<Call, "mode" | "request">,
  plan: DialPlan,
): boolean {
  return mode === "test" || mayBeCalled(request, plan);
}

/**
 * Returns the agent's route in the plan, or else that of `*`; of a split undefined, as its arms make its calls. Only
 * `RouteTable.find` says where a client's calls go.
 */
export function findAgentRoute(agentId: string, { agents, splits }: DialPlan): Route | undefined {
  if (Object.hasOwn(splits, agentId)) return undefined;
  return Object.hasOwn(agents, agentId) ? agents[agentId] : agents["*"];
}

/**
 * Returns how results along a route are polled. Undefined: they are not. Those of test calls are, whatever the plan says.
 */
export function findPolling(
  route: Route | null,
  { results }: DialPlan,
): NonNullable<DialPlan["results"]> | undefined {
  return (
    results ?? (route?.provider === sandboxType ? { waitMinutes: testWaitMinutes } : undefined)
  );
}

/** Time for which results of test calls are polled under a plan without `results`. */
const testWaitMinutes = 240;
