import type { Context } from "hono";
import { type CallRequest, callId, errorsMax } from "../../shared/call.ts";
import { expiryOf, mayBeCalled, routeOf } from "../../shared/dial-plan.ts";
import { errorForLog } from "../../shared/log.ts";
import type { Message } from "../../shared/message.ts";
import { contextProblem } from "../../shared/providers/index.ts";
import type { ApiSettings } from "../../shared/settings.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import type { Caller } from "../../shared/tokens.ts";
import type { ApiDeps, ApiEnv } from "./app.ts";
import { seedOf } from "./idempotency.ts";
import { problem, type ProblemError } from "./problem.ts";

const sendSecondsMax = 10;

/**
 * Accepts a validated body, one call or an array of them: 201 once the queue has acknowledged the one
 * message that holds it all, so that a batch is accepted whole or not at all.
 */
export async function createCalls(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  body: CallRequest | CallRequest[],
): Promise<Response> {
  const startedAt = deps.clock.now();
  const { settings } = deps;
  if ("problem" in settings) {
    const detail =
      "The service is not configured; its log says what is missing. Nothing was accepted.";
    return problem(c, 503, detail, { headers: { "retry-after": "60" } });
  }
  const caller = c.get("caller");
  const path = Array.isArray(body) ? "/v1/calls/batch" : "/v1/calls";
  const refusals: ProblemError[] = [];
  const requests = Array.isArray(body) ? body : [body];
  for (let index = 0; index < requests.length && refusals.length < errorsMax; index++) {
    const request = requests[index];
    if (request === undefined) continue;
    for (const { field, detail } of planErrors(request, settings.value, caller, startedAt)) {
      refusals.push({ pointer: Array.isArray(body) ? `/${index}${field}` : field, detail });
    }
  }
  const firstRefusals = refusals.slice(0, errorsMax);
  const kept = await seedOf(c, deps, settings.value, path, firstRefusals, startedAt);
  if (kept instanceof Response) return kept;
  const { seed, firstAt } = kept;
  // Whatever the first request brought has ended, once its time is over.
  const isOver = startedAt >= expiryOf({ acceptedAt: firstAt }, settings.value.plan);
  const acceptedAt = isOver ? startedAt : firstAt;

  const origin = { requestId: c.get("requestId"), client: caller.client, acceptedAt };
  return enqueue(
    c,
    deps,
    Array.isArray(body)
      ? { kind: "batch", ...origin, seed, firstIndex: 0, calls: body }
      : { kind: "call", call: { id: callId(seed, 0), ...origin, request: body } },
    startedAt,
  );
}

/** What the plan and the token say against a call: of a field, `/agent_id`, or of the whole, an empty pointer. */
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

async function enqueue(
  c: Context<ApiEnv>,
  { queue, clock, log }: ApiDeps,
  message: Extract<Message, { kind: "call" | "batch" }>,
  startedAt: number,
): Promise<Response> {
  const { client, tokenId } = c.get("caller");
  const fields = {
    request_id: c.get("requestId"),
    client,
    token_id: tokenId,
    ...(message.kind === "call"
      ? { call_id: message.call.id, agent_id: message.call.request.agent_id }
      : { count: message.calls.length }),
  };
  // Repeated once under the same ids: where both arrive, the dialer drops one.
  const send = () => withTimeLimit(queue.send(message), sendSecondsMax);
  try {
    await send().catch(send);
  } catch (error) {
    log("alarm", "queue.unreachable", { ...fields, error: errorForLog(error) });
    const detail =
      "The queue did not confirm the request, which may have been accepted all the same. " +
      "Repeat it only under the same Idempotency-Key, or somebody may be called twice.";
    return problem(c, 503, detail, { headers: { "retry-after": "5" } });
  }
  log("info", `${message.kind}.accepted`, { ...fields, ms: clock.now() - startedAt });
  return c.body(null, 201, { "content-length": "0" }); // unsaid, a server in Node sends it in chunks
}
