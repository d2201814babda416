import type { Context } from "hono";
import { withCalls } from "#shared/calls/ids.ts";
import { expiryOf } from "#shared/dial-plan/expiry.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import { errorForLog, type LogFields } from "#shared/lib/log.ts";
import { createRequestMessage } from "#shared/ports/call-messages.ts";
import type { ApiSettings } from "#shared/settings/settings.ts";
import type { Caller } from "#shared/settings/tokens.ts";
import { readCaller, identify } from "../http/base-app.ts";
import type { ApiEnv, PlatformDeps } from "../http/context.ts";
import { refuseAboveLimit } from "../http/limit-token.ts";
import { enqueue } from "../http/port-limits.ts";
import { toErrors, answerProblem, answerUnprocessable } from "../http/problem.ts";
import { readBody } from "../http/read-json.ts";
import { findRefusals, hasCallHeaders, unknownField } from "./call-errors.ts";
import { readCallHeaders } from "./call-headers.ts";
import { findGuardedOrigin } from "./client-guards.ts";
import type { Endpoint } from "./endpoints.ts";
import { answerCreated, answerUnreachable, findOrigin } from "./idempotency.ts";

/** Dependencies of accepting calls. `settings` is undefined if they are wrong, and nothing is accepted. */
export type AcceptDeps = PlatformDeps & { settings: ApiSettings | undefined };

/** The request that owns accepted calls, before they are on the queue. */
interface Accepting {
  requestId: string;
  /** Time of its first acceptance, in milliseconds since the epoch. */
  acceptedAt: number;
  count: number;
}

/** The caller that places calls, and a function that records the caller before the calls are on the queue. */
export interface Sender {
  caller: Caller;
  /** A request whose calls it cannot record is not accepted. */
  record?(accepting: Accepting): Promise<void>;
}

/**
 * Accepts the calls of a client's request. This is one handler without middleware: the promises, closures and header
 * objects of middleware were a fifth of the time of accepting a call.
 */
export async function createCalls(
  c: Context<ApiEnv>,
  endpoint: Endpoint,
  deps: AcceptDeps,
): Promise<Response> {
  identify(c, deps);

  // 401 for the token. Only a token that operators made takes a read, at most once a minute.
  const found = readCaller(c, (token) => deps.callerOf(token, deps.clock.now()), "call");
  const caller = found instanceof Promise ? await found : found;
  if (caller instanceof Response) return caller;

  // The limit of the token, where there is one: 503.
  const { tokenLimit, log } = deps;
  const limited = tokenLimit && (await refuseAboveLimit(c, caller.tokenId, { tokenLimit, log }));
  return limited ?? (await acceptCalls(c, { endpoint, sender: { caller } }, deps));
}

/**
 * Accepts the calls of one request: answers 201 once the queue has acknowledged the single message that holds them
 * all, so that a batch is accepted whole or not at all. Each stage may end the request with an error.
 */
export async function acceptCalls(
  c: Context<ApiEnv>,
  { endpoint, sender: { caller, record } }: { endpoint: Endpoint; sender: Sender },
  deps: AcceptDeps,
): Promise<Response> {
  const { path, bytesMax, structure, body } = endpoint;

  // The body and its schema: 422.
  const read = await readBody(c, { bytesMax, structure });
  if (read instanceof Response) return read;
  const { data, error } = body.safeParse(read.value);
  if (data === undefined)
    return answerUnprocessable(c, toErrors(error?.issues ?? [], unknownField));

  // The headers that say when: 422.
  const headers = hasCallHeaders(c) ? readCallHeaders(c) : {};
  if ("errors" in headers) return answerUnprocessable(c, headers.errors);

  // The settings: 503.
  const { settings } = deps;
  if (settings === undefined) return unconfigured(c);

  // 422 or 503 for the plan and the Idempotency-Key. A repeat of an accepted request passes whatever the plan says.
  const isBatch = Array.isArray(data);
  const count = isBatch ? data.length : 1;
  c.set("requestId", withCalls(c.get("requestId"), count));
  const startedAt = deps.clock.now();
  const { client, mode, tokenId, quota } = caller;
  const asked = { ...caller, at: startedAt, notBefore: headers.notBefore };
  const refusals = findRefusals(data, asked, settings);
  const { hashes, plan } = settings;
  const requestId = settings.issuedIds.mark(c.get("requestId"));
  const { bytes } = read;
  const fresh = { requestId, client, mode, count, path, bytes, headers, hashes, quota };
  const isGuarded = plan.guards !== undefined || quota !== undefined;
  const find = isGuarded ? findGuardedOrigin : findOrigin;
  const origin = await find(c, { ...fresh, refusals, at: startedAt }, { ...deps, settings });
  if (origin instanceof Response) return origin;
  c.set("requestId", origin.requestId);

  // The audit log, where it records who places calls: 503.
  const { requestId: id, acceptedAt: at } = origin;
  try {
    await record?.({ requestId: id, acceptedAt: at, count });
  } catch (failure) {
    await origin.giveBack?.();
    return answerUnreachable(c, failure, deps);
  }

  // 503 for the queue. A replay after the calls' lifetime renews it: calls with rows have ended, calls without rows
  // may still be dialed.
  const acceptedAt = startedAt >= expiryOf(origin, plan) ? startedAt : origin.acceptedAt;
  const { traces } = plan;
  const traceparent = traces && (await readTrace(c, origin.requestId, traces));
  const owner = { requestId: origin.requestId, client, mode, acceptedAt, ...headers, traceparent };
  const message = createRequestMessage(owner, { text: read.text, isBatch });
  const fields: LogFields = { request_id: origin.requestId, client, token_id: tokenId, count };
  if (origin.isReplay) fields.replayed = true;
  try {
    await enqueue(deps.queue, message);
  } catch (failure) {
    deps.log("alarm", "queue.unreachable", { ...fields, error: errorForLog(failure) });
    await origin.giveBack?.();
    return unconfirmed(c);
  }

  deps.log("info", "request.accepted", { ...fields, ms: deps.clock.now() - startedAt });
  return answerCreated(origin);
}

/** Returns the trace of a request. It is no part of what an Idempotency-Key is bound to. */
async function readTrace(
  c: Context<ApiEnv>,
  requestId: string,
  { share }: NonNullable<DialPlan["traces"]>,
): Promise<string | undefined> {
  const { chooseTraceparent } = await import("#shared/traces/trace-context.ts");
  return chooseTraceparent(c.req.header("traceparent"), { requestId, share });
}

function unconfigured(c: Context<ApiEnv>): Response {
  const detail =
    "The service is not configured; its log says what is missing. Nothing was accepted.";
  return answerProblem(c, 503, { detail, headers: { "retry-after": "60" } });
}

function unconfirmed(c: Context<ApiEnv>): Response {
  const detail =
    "The queue did not confirm the request, which may have been accepted all the same. " +
    "Repeat it only under the same Idempotency-Key, or somebody may be called twice.";
  return answerProblem(c, 503, { detail, headers: { "retry-after": "5" } });
}
