import { labels } from "#shared/calls/labels.ts";
import type { Context } from "hono";
import {
  callFields,
  type CallRequest,
  errorsMax,
  isPlainCall,
  type Route,
  singleSchema,
} from "#shared/calls/call-request.ts";
import { isTestNumber, mustBeTestNumber } from "#shared/calls/test-numbers.ts";
import type { Mode } from "#shared/calls/ids.ts";
import { findAgentRoute, mayBeDialed } from "#shared/dial-plan/dial-plan.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { expiryOf } from "#shared/dial-plan/expiry.ts";
import { agentsBehind } from "#shared/dial-plan/splits.ts";
import { getOrMake } from "#shared/lib/get-or-make.ts";
import type { ApiSettings } from "#shared/settings/settings.ts";
import type { Caller } from "#shared/settings/tokens.ts";
import { zoneNamesOf } from "#shared/telephony/zones-of-number.ts";
import { toErrors, type ProblemError } from "../http/problem.ts";

/** The error of a field that a call does not have. */
export const unknownField = `is not a field of a call: ${callFields.slice(0, -1).join(", ")} or ${callFields.at(-1)}`;

/**
 * Reads one call of a batch by the rules of `callRequestSchema`.
 *
 * @returns the call, or its errors as the batch's 422 names them
 */
export function readCallAt(
  value: unknown,
  index: number,
): { request: CallRequest } | { errors: ProblemError[] } {
  if (isPlainCall(value)) return { request: value };
  const { data, error } = singleSchema.safeParse(value);
  if (data !== undefined) return { request: data };
  const issues = error?.issues ?? [];
  const inBatch = issues.map((issue) => ({ ...issue, path: [index, ...issue.path] }));
  return { errors: toErrors(inBatch, unknownField) };
}

/** True if a request has headers that concern its calls; most have none. */
export function hasCallHeaders(c: Context): boolean {
  return callHeaders.some((name) => c.req.header(name) !== undefined);
}

const callHeaders = [
  "call-not-before",
  "call-priority",
  ...Object.values(labels).map(({ header }) => header),
];

/** Returns the errors of a body by the plan and the token, at most as many as an answer lists. */
export function findRefusals(
  body: CallRequest | CallRequest[],
  caller: CallerAt,
  settings: ApiSettings,
): ProblemError[] {
  const { at: acceptedAt, notBefore = 0 } = caller;
  if (notBefore > expiryOf({ acceptedAt }, settings.plan)) {
    const hours = `${settings.plan.expireAfterHours} hours`;
    const detail = `must be at most ${hours} away, when the calls would expire`;
    return [{ header: "Call-Not-Before", detail }];
  }
  const refusals: ProblemError[] = [];
  const judge = createJudge(caller, settings);
  const requests = Array.isArray(body) ? body : [body];
  for (let index = 0; index < requests.length && refusals.length < errorsMax; index++) {
    const request = requests[index];
    if (request === undefined) continue;
    for (const { field, detail } of judge(request)) {
      refusals.push({ pointer: Array.isArray(body) ? `/${index}${field}` : field, detail });
    }
  }
  return refusals.slice(0, errorsMax);
}

/** An error of one call. The field is a pointer, such as `/agent_id`, or empty for the whole call. */
interface CallError {
  field: string;
  detail: string;
}

/** A caller, and when its call is accepted and may be dialed at the earliest. */
type CallerAt = Pick<Caller, "client" | "mode" | "agents"> & {
  at: number;
  notBefore?: number | undefined;
};

/** An agent that a caller's call would be made by, or an arm of a split that may get the call. */
interface Target {
  agentId: string;
  /** Route of the caller's calls to it: the sandbox's for a test call. */
  route: Route | undefined;
  /** The agent's own route. A test call is refused as the real one would be. */
  own: Route | undefined;
  /** Why the caller's calls may not have this agent. */
  problem: string | undefined;
}

/** Returns the function that finds the errors of one caller's calls, by the plan and the token's agents. */
export function createJudge(
  caller: CallerAt,
  settings: Pick<ApiSettings, "plan" | "table" | "schedule">,
): (request: CallRequest) => readonly CallError[] {
  const { plan, table } = settings;
  const { client, mode, agents, at } = caller;
  /** Targets by the posted agent, of which a batch has few. Any arm of a split may get the call. */
  const targetsOf = new Map<string, Target[]>();
  const findTargets = (posted: string): Target[] => {
    // The right to the split is enough.
    const isAllowed = agents.includes("*") || agents.includes(posted);
    return agentsBehind(posted, plan).map((agentId) => {
      const route = table.find({ client, mode, agentId });
      const problem = findAgentProblem(agentId, { isAllowed, route });
      return { agentId, route, own: findAgentRoute(agentId, plan), problem };
    });
  };
  const expiresAt = expiryOf({ acceptedAt: at }, plan);
  const window = { from: Math.max(at, caller.notBefore ?? at), until: expiresAt };
  return (request) => {
    const { agent_id: posted } = request;
    const targets = getOrMake(targetsOf, posted, findTargets);
    for (const target of targets) {
      const errors = findErrors(request, { target, mode, window }, settings);
      if (errors.length > 0) return errors;
    }
    return none;
  };
}

const none: readonly CallError[] = [];

/** Returns the errors of a call to a target that may be dialed in the window. The refusal of one arm refuses the call. */
function findErrors(
  posted: CallRequest,
  { target, mode, window }: { target: Target; mode: Mode; window: { from: number; until: number } },
  { plan, table, schedule }: Pick<ApiSettings, "plan" | "table" | "schedule">,
): readonly CallError[] {
  const { agentId, route, own, problem } = target;
  const request = posted.agent_id === agentId ? posted : { ...posted, agent_id: agentId };
  const destination = findDestinationProblem({ mode, request }, plan);
  const context = own && table.kinds.contextProblem(request, own);
  if (problem !== undefined || destination !== undefined || context !== undefined) {
    const problems = { "/agent_id": problem, "/phone_number": destination, "/context": context };
    return Object.entries(problems).flatMap(([field, detail]) =>
      detail === undefined ? [] : { field, detail },
    );
  }
  if (route === undefined) return none;
  const { at, closedBy } = schedule.opening(request, route, window);
  return at === undefined ? [closedError(request, closedBy, plan)] : none;
}

/** Returns the error of a call that no hour permits until it expires. */
function closedError(request: CallRequest, closedBy: string, plan: DialPlan): CallError {
  if (closedBy === "no_time_zone") {
    const detail = "is required: the number implies no time zone, and the plan has no default";
    return { field: "/timezone", detail };
  }
  const hours = `${plan.expireAfterHours} hours`;
  const zones = zoneNamesOf(request, plan.defaultTimeZone).length;
  const isInBoth = request.timezone !== undefined && zones > 1;
  const inZones = isInBoth
    ? ", in this time zone and in those of the number: correct the number or the timezone"
    : zones > 1
      ? `, in ${zones} time zones at once: send timezone`
      : "";
  const detail = `may not be called within ${hours}, when it would expire: closed by ${closedBy}${inZones}`;
  return { field: isInBoth ? "/timezone" : "", detail };
}

function findDestinationProblem(
  call: { mode: Mode; request: CallRequest },
  plan: DialPlan,
): string | undefined {
  if (call.mode === "test" && !isTestNumber(call.request.phone_number)) return mustBeTestNumber;
  return mayBeDialed(call, plan)
    ? undefined
    : "is at a destination that the dial plan does not permit";
}

/** Returns the reason for which a call may not have this agent. Operators pause and cancel calls by their agent's name. */
function findAgentProblem(
  agentId: string,
  { isAllowed, route }: { isAllowed: boolean; route: object | undefined },
): string | undefined {
  if (agentId === "*") {
    return "must name one agent: * is the dial plan's word for all that it does not name";
  }
  if (route === undefined) return "is no agent of the dial plan";
  return isAllowed ? undefined : "is not one of this token's agents";
}
