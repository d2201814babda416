import { labels } from "#shared/calls/labels.ts";
import type { Context } from "hono";
import {
  callFields,
  type CallRequest,
  errorsMax,
  isPlainCall,
  singleSchema,
} from "#shared/calls/call-request.ts";
import { isTestNumber, mustBeTestNumber } from "#shared/calls/test-numbers.ts";
import { findAgentRoute, mayBeDialed } from "#shared/dial-plan/dial-plan.ts";
import { expiryOf } from "#shared/dial-plan/expiry.ts";
import { agentsBehind, findSplit } from "#shared/dial-plan/splits.ts";
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
  const requests = Array.isArray(body) ? body : [body];
  for (let index = 0; index < requests.length && refusals.length < errorsMax; index++) {
    const request = requests[index];
    if (request === undefined) continue;
    for (const { field, detail } of findPlanErrors(request, caller, settings)) {
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

/**
 * Returns the errors of a call accepted at `at` and not to be dialed before `notBefore`, by the plan and the token's
 * agents. Any arm of a split may get the call, so the refusal of one arm refuses it. The right to the split is
 * enough.
 */
export function findPlanErrors(
  request: CallRequest,
  caller: CallerAt,
  settings: Pick<ApiSettings, "plan" | "table" | "schedule">,
): CallError[] {
  const { agent_id } = request;
  const isAllowed = caller.agents.includes("*") || caller.agents.includes(agent_id);
  if (findSplit(agent_id, settings.plan) === undefined) {
    return findErrorsAlong(request, { ...caller, isAllowed }, settings);
  }
  for (const arm of agentsBehind(agent_id, settings.plan)) {
    const toArm = { ...request, agent_id: arm };
    const errors = findErrorsAlong(toArm, { ...caller, isAllowed }, settings);
    if (errors.length > 0) return errors;
  }
  return [];
}

/** Returns the errors of a call to an agent that is no split. */
function findErrorsAlong(
  request: CallRequest,
  caller: Omit<CallerAt, "agents"> & { isAllowed: boolean },
  { plan, table, schedule }: Pick<ApiSettings, "plan" | "table" | "schedule">,
): CallError[] {
  const { client, mode, isAllowed, at: acceptedAt, notBefore = acceptedAt } = caller;
  const errors: CallError[] = [];
  const route = table.find({ client, mode, agentId: request.agent_id });
  const wrongAgent = findAgentProblem(request.agent_id, { isAllowed, route });
  if (wrongAgent !== undefined) errors.push({ field: "/agent_id", detail: wrongAgent });
  if (mode === "test" && !isTestNumber(request.phone_number)) {
    errors.push({ field: "/phone_number", detail: mustBeTestNumber });
  } else if (!mayBeDialed({ mode, request }, plan)) {
    const detail = "is at a destination that the dial plan does not permit";
    errors.push({ field: "/phone_number", detail });
  }
  // A test call is refused as its agent's real call would be.
  const own = findAgentRoute(request.agent_id, plan);
  const unfit = own && table.kinds.contextProblem(request, own);
  if (unfit !== undefined) errors.push({ field: "/context", detail: unfit });
  if (route === undefined || errors.length > 0) return errors;

  const expiresAt = expiryOf({ acceptedAt }, plan);
  const { at, closedBy } = schedule.opening(request, route, {
    from: Math.max(acceptedAt, notBefore),
    until: expiresAt,
  });
  if (at !== undefined) return errors;
  if (closedBy === "no_time_zone") {
    const detail = "is required: the number implies no time zone, and the plan has no default";
    errors.push({ field: "/timezone", detail });
  } else {
    const hours = `${plan.expireAfterHours} hours`;
    const zones = zoneNamesOf(request, plan.defaultTimeZone).length;
    const isInBoth = request.timezone !== undefined && zones > 1;
    const inZones = isInBoth
      ? ", in this time zone and in those of the number: correct the number or the timezone"
      : zones > 1
        ? `, in ${zones} time zones at once: send timezone`
        : "";
    const detail = `may not be called within ${hours}, when it would expire: closed by ${closedBy}${inZones}`;
    errors.push({ field: isInBoth ? "/timezone" : "", detail });
  }
  return errors;
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
