import type { Context } from "hono";
import { type CallRequest, callId, errorsMax } from "../../shared/call.ts";
import { type DialPlan, mayBeCalled, routeOf } from "../../shared/dial-plan.ts";
import { errorForLog } from "../../shared/log.ts";
import type { Message } from "../../shared/message.ts";
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
  const acceptedAt = deps.clock.now();
  const { settings } = deps;
  if ("problem" in settings) {
    const detail =
      "The service is not configured; its log says what is missing. Nothing was accepted.";
    return problem(c, 503, detail, { headers: { "retry-after": "60" } });
  }
  const { plan } = settings.value;
  const caller = c.get("caller");
  const path = Array.isArray(body) ? "/v1/calls/batch" : "/v1/calls";
  const refusals = Array.isArray(body)
    ? body.flatMap((request, index) => planErrors(request, `/${index}`, plan, caller))
    : planErrors(body, "", plan, caller);
  const seed = await seedOf(c, deps, settings.value, path, refusals.slice(0, errorsMax));
  if (seed instanceof Response) return seed;

  const origin = { requestId: c.get("requestId"), client: caller.client, acceptedAt };
  return enqueue(
    c,
    deps,
    Array.isArray(body)
      ? { kind: "batch", ...origin, seed, firstIndex: 0, calls: body }
      : { kind: "call", call: { id: callId(seed, 0), ...origin, request: body } },
    acceptedAt,
  );
}

/** What the plan and the token say against a call. */
function planErrors(
  request: CallRequest,
  pointer: string,
  plan: DialPlan,
  { agents }: Caller,
): ProblemError[] {
  const errors: ProblemError[] = [];
  if (routeOf(request.agent_id, plan) === undefined) {
    errors.push({ pointer: `${pointer}/agent_id`, detail: "is no agent of the dial plan" });
  } else if (!agents.includes("*") && !agents.includes(request.agent_id)) {
    errors.push({ pointer: `${pointer}/agent_id`, detail: "is not one of this token's agents" });
  }
  if (!mayBeCalled(request, plan)) {
    const detail = "is at a destination that the dial plan does not permit";
    errors.push({ pointer: `${pointer}/phone_number`, detail });
  }
  return errors;
}

async function enqueue(
  c: Context<ApiEnv>,
  { queue, clock, log }: ApiDeps,
  message: Extract<Message, { kind: "call" | "batch" }>,
  acceptedAt: number,
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
  log("info", `${message.kind}.accepted`, { ...fields, ms: clock.now() - acceptedAt });
  return c.body(null, 201);
}
