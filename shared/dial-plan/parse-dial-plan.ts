import type { Route } from "../calls/call-request.ts";
import { isPlannedType } from "../calls/provider-types.ts";
import { isLoopback } from "../lib/https-url.ts";
import type * as z from "../lib/zod.ts";
import { mustBeAccount } from "./account-schema.ts";
import { unknownChecks } from "./checks.ts";
import { parsePlanJson } from "./parse-plan-json.ts";
import { type DialPlan, dialPlanSchema } from "./plan-schema.ts";
import { callBackProblems, retryProblems } from "./retry-rules.ts";
import type { RouteKinds } from "./route-kinds.ts";
import { detectPointsDefault, splitProblems } from "./splits.ts";

/**
 * Parses the dial plan: `override` (the variable DIAL_PLAN, JSON) if it is set, otherwise `bundled`.
 *
 * @throws an Error whose message names every wrong field, one per line
 */
export function parseDialPlan(
  bundled: unknown,
  { DIAL_PLAN: override, ALLOW_SIMULATOR, RETRY_SPEED }: Record<string, string | undefined>,
  kinds: RouteKinds,
): DialPlan {
  const read = readDialPlan(override ? parsePlanVariable(override) : bundled, kinds);
  if ("problems" in read) {
    const lines = read.problems.map(
      ({ path, message }) => `dial plan: ${path.map(String).join(".") || "plan"}: ${message}`,
    );
    throw new Error(lines.join("\n"));
  }
  const simulated = Object.entries(read.plan.agents).find(
    ([, { provider }]) => provider === "simulator",
  );
  if (simulated !== undefined && ALLOW_SIMULATOR !== "true") {
    throw new Error(
      `dial plan: agents.${simulated[0]}: the simulator dials nobody; it is for npm start alone`,
    );
  }
  return RETRY_SPEED ? hurryRetries(read.plan, Number(RETRY_SPEED)) : read.plan;
}

/** Parses the variable DIAL_PLAN as JSON. @throws an Error that says what is wrong, and quotes nothing but names */
export function parsePlanVariable(text: string): unknown {
  try {
    return parsePlanJson(text);
  } catch (error) {
    const problem = `DIAL_PLAN ${error instanceof Error ? error.message : ""}`;
    const isOther = !/^\s*\{/.test(text);
    throw new Error(isOther ? `${problem}. ${notItsPath}` : problem, { cause: error });
  }
}

const notItsPath =
  'It must hold the plan, not the path of its file: DIAL_PLAN="$(cat FILE)", or npm run secrets -- set DIAL_PLAN < FILE';

/**
 * Makes retries come sooner by a factor, so that a local run shows them in seconds.
 *
 * @throws unless every call goes to this machine, as people must have their delays
 */
function hurryRetries(plan: DialPlan, speed: number): DialPlan {
  const isLocal = ({ provider, url, baseUrl }: Route) =>
    provider === "simulator" || isLoopback(url ?? baseUrl ?? "");
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
  kinds: RouteKinds,
): { plan: DialPlan } | { problems: Problem[] } {
  // zod's records silently omit this key, and the rules under it.
  if (JSON.stringify(value ?? null).includes('"__proto__":')) {
    return { problems: [{ path: [], message: "must not have the key __proto__" }] };
  }
  const { data, error } = dialPlanSchema.safeParse(value);
  if (data === undefined) return { problems: error.issues.map(toProblem) };
  const { plan, problems } = withRoutes(data, kinds);
  return problems.length === 0 ? { plan } : { problems };
}

interface Problem {
  path: PropertyKey[];
  message: string;
}

function toProblem(issue: z.core.$ZodIssue): Problem {
  const ofKey = issue.code === "invalid_key" ? issue.issues[0]?.message : undefined;
  return { path: issue.path, message: ofKey ?? issue.message };
}

/** Parses the route of each agent by its account's type. */
function withRoutes(
  written: z.infer<typeof dialPlanSchema>,
  kinds: RouteKinds,
): { plan: DialPlan; problems: Problem[] } {
  const plan: DialPlan = { ...written, agents: {}, retries: {}, callBacks: {}, splits: {} };
  const problems: Problem[] = [];
  for (const [name, agent] of Object.entries(written.agents)) {
    const { retry, callBacks, provider: account, split, detectPoints, ...fields } = agent;
    if (split !== undefined) {
      plan.splits[name] = { arms: split, detectPoints: detectPoints ?? detectPointsDefault };
      for (const { path, message } of splitProblems(name, split, written)) {
        problems.push({ path: ["agents", name, ...path], message });
      }
      continue;
    }
    if (account === undefined) {
      problems.push({ path: ["agents", name, "provider"], message: mustBeAccount });
      continue;
    }
    if (detectPoints !== undefined) {
      problems.push({ path: ["agents", name, "detectPoints"], message: "is for a split alone" });
    }
    const { type = account, baseUrl, timeoutSeconds } = plan.providers[account] ?? {};
    if (!isPlannedType(type)) {
      problems.push({ path: ["agents", name, "provider"], message: mustBeAccount });
      continue;
    }
    if (Object.hasOwn(fields, "account")) {
      problems.push({ path: ["agents", name, "account"], message: "must be named provider" });
      continue;
    }
    const parsed = kinds.parseRoute(
      { ...fields, account },
      { provider: type, baseUrl, timeoutSeconds },
    );
    if ("issues" in parsed) {
      for (const { path, message } of parsed.issues.map(toProblem)) {
        problems.push({ path: ["agents", name, ...path], message });
      }
      continue;
    }
    const { route } = parsed;
    plan.agents[name] = route;
    problems.push(...unknownChecks(name, route, plan));
    const refuse = (field: string, found: { path: string[]; message: string }[]) =>
      problems.push(
        ...found.map(({ path, message }) => ({ path: ["agents", name, field, ...path], message })),
      );
    if (retry !== undefined) {
      plan.retries[name] = retry;
      refuse("retry", retryProblems(retry, plan, { route, kinds }));
    }
    if (callBacks !== undefined) {
      plan.callBacks[name] = callBacks;
      refuse("callBacks", callBackProblems(callBacks, plan, { route, kinds }));
    }
  }
  return { plan, problems };
}
