import { type Call, type CallRequest, type Route, sandboxType } from "../calls/call-request.ts";
import { isTestClient } from "../calls/ids.ts";
import { presets } from "../telephony/hours-presets.ts";
import type { HoursPreset } from "../telephony/hours-presets-base.ts";
import { allStates, stateCodes } from "../telephony/state-presets.ts";
import { type DialPlan, planWithRoutesSchema } from "./plan-schema.ts";
import type { RetryRule } from "./retry-rules.ts";
import { isLoopback } from "../lib/https-url.ts";
import { hourMs } from "../lib/units.ts";
import { costlyServiceOf, countryOf } from "../telephony/phone-number.ts";

/**
 * Parses the dial plan: `override` (the variable DIAL_PLAN, JSON) if it is set, otherwise `bundled`.
 *
 * @throws an Error whose message names every wrong field, one per line
 */
export function parseDialPlan(
  bundled: unknown,
  { DIAL_PLAN: override, ALLOW_SIMULATOR, RETRY_SPEED }: Record<string, string | undefined>,
): DialPlan {
  let value = bundled;
  if (override !== undefined && override !== "") {
    try {
      value = JSON.parse(override);
    } catch {
      throw new Error("DIAL_PLAN is not JSON"); // the parser's message would quote the text
    }
  }
  const read = readDialPlan(value);
  if ("problems" in read) {
    const lines = read.problems.map(
      ({ path, message }) => `dial plan: ${path.map(String).join(".") || "plan"}: ${message}`,
    );
    throw new Error(lines.join("\n"));
  }
  const simulated = Object.entries(read.plan.agents).find(([, { type }]) => type === "simulator");
  if (simulated !== undefined && ALLOW_SIMULATOR !== "true") {
    throw new Error(
      `dial plan: agents.${simulated[0]}: the simulator dials nobody; it is for npm start alone`,
    );
  }
  return RETRY_SPEED ? hurryRetries(read.plan, Number(RETRY_SPEED)) : read.plan;
}

/**
 * Makes retries come sooner by a factor, so that a local run shows them in seconds.
 *
 * @throws unless every call goes to this machine, as people must have their delays
 */
function hurryRetries(plan: DialPlan, speed: number): DialPlan {
  const isLocal = ({ type, url, baseUrl }: Route) =>
    type === "simulator" || isLoopback(url ?? baseUrl ?? "");
  if (!(speed >= 1) || !Object.values(plan.agents).every(isLocal)) {
    throw new Error(
      "RETRY_SPEED must be 1 or more, in a plan whose calls go to this machine alone",
    );
  }
  const retries = Object.entries(plan.retries).map(([agent, { within, after, ...rule }]) => {
    const delays = Object.entries(after).map(([status, delayMs]) => [
      status,
      (delayMs ?? 0) / speed,
    ]);
    return [agent, { ...rule, within: within / speed, after: Object.fromEntries(delays) }];
  });
  return { ...plan, retries: Object.fromEntries(retries) };
}

/** Reads a plan from its parsed JSON, or describes its problems with their paths. */
export function readDialPlan(
  value: unknown,
): { plan: DialPlan } | { problems: { path: PropertyKey[]; message: string }[] } {
  // zod's records silently omit this key, and the rules under it.
  if (JSON.stringify(value ?? null).includes('"__proto__":')) {
    return { problems: [{ path: [], message: "must not have the key __proto__" }] };
  }
  const { data, error } = planWithRoutesSchema.safeParse(value);
  if (data !== undefined) return { plan: data };
  const problems = error.issues.map((issue) => {
    const ofKey = issue.code === "invalid_key" ? issue.issues[0]?.message : undefined;
    return { path: issue.path, message: ofKey ?? issue.message };
  });
  return { problems };
}

/** Returns the hours of a plan, written out or by name; undefined for `always`. */
export function findHours(
  hours: DialPlan["callingHours"][string],
  { callingHours }: DialPlan,
): HoursPreset | undefined {
  const isSet = typeof hours === "string" && Object.hasOwn(callingHours, hours);
  const set = isSet ? callingHours[hours] : hours;
  if (typeof set !== "string") return set;
  if (set === "always") return undefined;
  const preset = presets[set];
  if (preset === undefined) throw new Error("the plan names unknown hours");
  return preset;
}

type Region = DialPlan["regions"][string];

/** Returns the plan's regions by name. One of all states is a region for each state, which brings its own prefixes. */
export function listRegions({ regions }: DialPlan): [name: string, region: Region][] {
  return Object.entries(regions).flatMap(([name, region]): [string, Region][] => {
    if (region.callingHours !== allStates) return [[name, region]];
    return Object.entries(stateCodes)
      .filter(([state]) => region.except?.includes(state) !== true)
      .map(([state, callingHours]) => [`${name}.${state}`, { ...region, callingHours }]);
  });
}

/** Returns the time at which an undialed call expires, in milliseconds since the epoch. */
export function expiryOf(
  { acceptedAt, tries }: Pick<Call, "acceptedAt" | "tries">,
  plan: DialPlan,
): number {
  const expiresAt = Math.round(acceptedAt + plan.expireAfterHours * hourMs);
  return tries === undefined || tries.number === 1 ? expiresAt : Math.min(expiresAt, tries.until);
}

/** Returns the agent's rule of retries, or else that of `*`. Undefined: its calls are tried once. */
export function findRetry(
  agentId: string,
  { agents, retries }: Pick<DialPlan, "agents" | "retries">,
): RetryRule | undefined {
  const name = Object.hasOwn(agents, agentId) ? agentId : "*";
  return Object.hasOwn(retries, name) ? retries[name] : undefined;
}

/** Returns a call as the first of the tries that its agent's rule allows. A redial by an operator is the only one. */
export function withTries(call: Call, plan: DialPlan): Call {
  if (call.tries !== undefined || call.ancestors !== undefined) return call;
  const rule = findRetry(call.request.agent_id, plan);
  if (rule === undefined) return call;
  const until = call.acceptedAt + rule.within;
  return { ...call, tries: { number: 1, budget: rule.attempts, until, dialedAt: [] } };
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
  { client, request }: Pick<Call, "client" | "request">,
  plan: DialPlan,
): boolean {
  return isTestClient(client) || mayBeCalled(request, plan);
}

/** Returns the agent's route in the plan, or else that of `*`. Only `RouteTable.find` says where a client's calls go. */
export function findAgentRoute(agentId: string, { agents }: DialPlan): Route | undefined {
  return Object.hasOwn(agents, agentId) ? agents[agentId] : agents["*"];
}

/**
 * Returns how results along a route are polled. Undefined: they are not. Those of test calls are, whatever the plan says.
 */
export function findPolling(
  route: Route | null,
  { results }: DialPlan,
): NonNullable<DialPlan["results"]> | undefined {
  return results ?? (route?.type === sandboxType ? { waitMinutes: testWaitMinutes } : undefined);
}

/** Time for which results of test calls are polled under a plan without `results`. */
const testWaitMinutes = 240;

/** Returns the type of the account that routes call by this name; undefined if the plan has none. */
export function findAccountType(
  account: string,
  { agents, providers }: DialPlan,
): string | undefined {
  const own = Object.hasOwn(providers, account) ? providers[account] : undefined;
  if (own !== undefined) return own.type ?? account;
  return Object.values(agents).find(({ provider }) => provider === account)?.type;
}
