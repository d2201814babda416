import type { Context } from "hono";
import { type CallRequest, errorsMax } from "../../../shared/calls/call-request.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import { errorForLog, type LogFields } from "../../../shared/lib/log.ts";
import { type MessageText, requestMessage } from "../../../shared/ports/request-message.ts";
import type { ApiSettings } from "../../../shared/settings/settings.ts";
import type { Caller } from "../../../shared/settings/tokens.ts";
import type { ApiDeps, ApiEnv, Posted } from "../http/context.ts";
import { planErrors } from "./call-errors.ts";
import { originOf } from "./idempotency.ts";
import { enqueue } from "../http/port-limits.ts";
import { problem, type ProblemError } from "../http/problem.ts";

/**
 * Accepts a validated body, one call or an array of them. Answers 201 once the queue has acknowledged the
 * single message that holds the whole request, so that a batch is accepted whole or not at all.
 */
export async function createCalls(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  posted: Posted,
): Promise<Response> {
  const { caller, text, body } = posted;
  const startedAt = deps.clock.now();
  const { settings } = deps;
  const path = Array.isArray(body) ? "/v1/calls/batch" : "/v1/calls";
  const refusals = refusalsOf(body, settings, caller, startedAt);
  const origin = await originOf(c, deps, posted, path, refusals, startedAt);
  if (origin instanceof Response) return origin;
  const { requestId, isReplay } = origin;
  if (isReplay) c.set("requestId", requestId);
  // Once their time is over, calls of the first request that have rows have ended. Calls without rows may
  // still be dialed.
  const isOver = startedAt >= expiryOf(origin, settings.plan);
  const { client, tokenId } = caller;
  const acceptedAt = isOver ? startedAt : origin.acceptedAt;
  const isBatch = Array.isArray(body);
  const message = requestMessage({ requestId, client, acceptedAt }, text, isBatch);
  const count = isBatch ? body.length : 1;
  const fields: LogFields = { request_id: requestId, client, token_id: tokenId, count };
  if (isReplay) fields.replayed = true;
  return await accept(c, deps, message, fields, startedAt);
}

/** Sends the request to the queue and answers. */
async function accept(
  c: Context<ApiEnv>,
  { queue, clock, log }: ApiDeps,
  message: MessageText,
  fields: LogFields,
  startedAt: number,
): Promise<Response> {
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
  const headers: Record<string, string> = {
    "x-request-id": c.get("requestId"),
    "content-length": "0", // without it, a server in Node uses chunked encoding
    "content-encoding": "identity", // without it, workerd's local server compresses even no body, to 20 bytes
  };
  if (fields.replayed === true) headers["idempotency-replayed"] = "true";
  return new Response(null, { status: 201, headers });
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
