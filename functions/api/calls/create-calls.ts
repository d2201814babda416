import type { Context } from "hono";
import { type CallRequest, errorsMax } from "../../../shared/calls/call.ts";
import { mayBeCalled } from "../../../shared/dial-plan/destinations.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import { routeOf } from "../../../shared/dial-plan/routes.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import { contextProblem } from "../../../shared/providers/index.ts";
import type { CallsMessage } from "../../../shared/queue/messages.ts";
import type { ApiSettings } from "../../../shared/platform/settings.ts";
import type { Caller } from "../../../shared/platform/tokens.ts";
import type { ApiDeps, ApiEnv } from "../context.ts";
import { originOf } from "./idempotency.ts";
import { enqueue } from "../port-limits.ts";
import { problem, type ProblemError } from "../problem.ts";

/**
 * Accepts a validated body, one call or an array of them. Answers 201 once the queue has acknowledged the
 * single message that holds the whole request, so that a batch is accepted whole or not at all.
 */
export async function createCalls(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  body: CallRequest | CallRequest[],
): Promise<Response> {
  const startedAt = deps.clock.now();
  const { settings } = deps;
  const path = Array.isArray(body) ? "/v1/calls/batch" : "/v1/calls";
  const refusals = refusalsOf(body, settings, c.get("caller"), startedAt);
  const origin = await originOf(c, deps, settings, path, refusals, startedAt);
  if (origin instanceof Response) return origin;
  const { requestId, isReplay } = origin;
  c.set("requestId", requestId);
  c.header("x-request-id", requestId);
  // Once their time is over, calls of the first request that have rows have ended. Calls without rows may
  // still be dialed.
  const isOver = startedAt >= expiryOf(origin, settings.plan);
  const message: CallsMessage = {
    kind: "calls",
    requestId,
    client: c.get("caller").client,
    acceptedAt: isOver ? startedAt : origin.acceptedAt,
    calls: (Array.isArray(body) ? body : [body]).map((request, index) => ({ index, request })),
  };
  return accept(c, deps, message, { isReplay, startedAt });
}

/** Sends the request to the queue and answers. */
async function accept(
  c: Context<ApiEnv>,
  { queue, clock, log }: ApiDeps,
  message: CallsMessage,
  { isReplay, startedAt }: { isReplay: boolean; startedAt: number },
): Promise<Response> {
  const fields = {
    request_id: message.requestId,
    client: message.client,
    token_id: c.get("caller").tokenId,
    count: message.calls.length,
    ...(isReplay ? { replayed: true } : {}),
  };
  try {
    await enqueue(queue, message);
  } catch (error) {
    log("alarm", "queue.unreachable", { ...fields, error: errorForLog(error) });
    const detail =
      "The queue did not confirm the request, which may have been accepted all the same. " +
      "Repeat it only under the same Idempotency-Key, or somebody may be called twice.";
    return problem(c, 503, detail, { headers: { "retry-after": "5" } });
  }
  log("info", "request.accepted", { ...fields, ms: clock.now() - startedAt });
  if (isReplay) c.header("idempotency-replayed", "true");
  return c.body(null, 201, { "content-length": "0" }); // without it, a server in Node uses chunked encoding
}

/** Returns the errors of a body by the plan and the token, at most as many as an answer names. */
function refusalsOf(
  body: CallRequest | CallRequest[],
  settings: ApiSettings,
  caller: Caller,
  now: number,
): ProblemError[] {
  const refusals: ProblemError[] = [];
  const requests = Array.isArray(body) ? body : [body];
  for (let index = 0; index < requests.length && refusals.length < errorsMax; index++) {
    const request = requests[index];
    if (request === undefined) continue;
    for (const { field, detail } of planErrors(request, settings, caller, now)) {
      refusals.push({ pointer: Array.isArray(body) ? `/${index}${field}` : field, detail });
    }
  }
  return refusals.slice(0, errorsMax);
}

/**
 * Returns the errors of a call by the plan and the token. The pointer names a field, such as `/agent_id`, or
 * is empty for the whole call.
 */
function planErrors(
  request: CallRequest,
  { plan, schedule }: ApiSettings,
  { agents }: Caller,
  acceptedAt: number,
): { field: string; detail: string }[] {
  const errors: { field: string; detail: string }[] = [];
  const route = routeOf(request.agent_id, plan);
  if (route === undefined) {
    errors.push({ field: "/agent_id", detail: "is no agent of the dial plan" });
  } else if (!agents.includes("*") && !agents.includes(request.agent_id)) {
    errors.push({ field: "/agent_id", detail: "is not one of this token's agents" });
  }
  if (!mayBeCalled(request, plan)) {
    const detail = "is at a destination that the dial plan does not permit";
    errors.push({ field: "/phone_number", detail });
  }
  const unfit = route && contextProblem(request, route);
  if (unfit !== undefined) errors.push({ field: "/context", detail: unfit });
  if (route === undefined || errors.length > 0) return errors;

  const expiresAt = expiryOf({ acceptedAt }, plan);
  const { at, closedBy } = schedule.opening(request, route, acceptedAt, expiresAt);
  if (at !== undefined) return errors;
  if (closedBy === "no_time_zone") {
    const detail = "is required: the number tells no time zone, and the plan has no default";
    errors.push({ field: "/timezone", detail });
  } else {
    const hours = `${plan.expireAfterHours} hours`;
    const known = request.timezone === undefined ? "; fewer may be, if its timezone is sent" : "";
    const detail = `may not be called within ${hours}, when it would expire: closed by ${closedBy}${known}`;
    errors.push({ field: "", detail });
  }
  return errors;
}
