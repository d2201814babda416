import type { Context, Hono, MiddlewareHandler } from "hono";
import { findCallId, toAccountName } from "#shared/calls/ids.ts";
import { findAccountType } from "#shared/dial-plan/route-table.ts";
import { callbackCheck, type CallbackSubject } from "#shared/settings/callback-url.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { ApiDeps, ApiEnv } from "../http/context.ts";
import { readAtMost } from "../http/read-json.ts";
import { answerProblem } from "../http/problem.ts";
import { createJudge, fieldsOf, type Judge, refuseBody } from "./judge-webhook.ts";

type Callback = Extract<EventMessage, { kind: "callback" }>;

/**
 * Maximum size of a callback's body that is read. A callback with a longer body still serves as a hint, except a
 * webhook's.
 */
const bodyBytesMax = 64 * 1024;
/** Time limit for a callback's body. A slower callback must be sent again, as its content would be lost. */
const bodySecondsMax = 5;

/**
 * Adds the paths to which providers report a call's end. A callback is a hint: it goes onto the events queue, and the
 * dialer reads the provider's record. A webhook's callback contains the result, so its sender gets errors. The
 * last part of the path is a code that only this service can make.
 *
 * @param identify the middleware that gives a request its id
 */
export function addCallbacks(
  app: Hono<ApiEnv>,
  deps: ApiDeps,
  identify: MiddlewareHandler<ApiEnv>,
): void {
  const judge = createJudge(deps);
  app.all("/callbacks/*", refuseForged(deps), identify, (c) => takeCallback(c, deps, judge));
}

/** Has callbacks sent again while the settings are wrong: nothing can tell then which of them are forged. */
export function refuseCallbacks(app: Hono<ApiEnv>): void {
  app.all("/callbacks/*", (c) => c.body(null, 503, { "retry-after": "60" }));
}

/**
 * Answers forged callbacks 404 before anything is read, queued or logged. Anybody can send these, so the answer is as
 * cheap as possible: no body, no request id.
 */
function refuseForged({ settings }: ApiDeps): MiddlewareHandler<ApiEnv> {
  const isRight = callbackCheck(settings);
  return async (c, next) => {
    const address = addressOf(c.req.path);
    if (address === undefined || !isRight(address)) return c.body(null, 404);
    const provider = findAccountType(toAccountName(address.subject.account), settings.plan);
    c.set("callback", { ...address.subject, provider });
    return next();
  };
}

/** The path of a callback URL. No part of it needs percent encoding. */
const pathPattern =
  /^\/callbacks\/([\w-]{1,64})(?:\/(\w{1,64})\/(\w{1,64})(?:\/(\w{40}))?)?\/([\w-]{22})$/;

/** Parses a path; undefined if no callback URL has this form. */
function addressOf(path: string): { subject: CallbackSubject; code: string } | undefined {
  const [, account, id, claim, numberHash, code] = pathPattern.exec(path) ?? [];
  if (account === undefined || code === undefined) return undefined;
  const hashed = numberHash === undefined ? {} : { numberHash };
  const call = id === undefined || claim === undefined ? undefined : { id, claim, ...hashed };
  return { subject: { account, call }, code };
}

async function takeCallback(c: Context<ApiEnv>, deps: ApiDeps, judge: Judge): Promise<Response> {
  const { eventsQueue, log } = deps;
  if (c.req.method !== "POST") {
    return answerProblem(c, 405, {
      detail: "Only POST is allowed here.",
      headers: { allow: "POST" },
    });
  }
  const fields = fieldsOf(c);
  const retry = (why: string) =>
    answerProblem(c, 503, { detail: `${why} Send it again.`, headers: { "retry-after": "30" } });
  const message = await messageOf(c, deps, judge);
  if (message instanceof Response) return message;
  if (message === "slow") {
    log("warning", "callback.slow", fields);
    return retry("The body did not come in time.");
  }
  try {
    await eventsQueue.send(message);
  } catch (error) {
    log("alarm", "queue.unreachable", { ...fields, error: errorForLog(error) });
    return retry("The queue did not accept the callback.");
  }
  return c.body(null, 204);
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads the body's text, or returns why there is none. */
async function bodyOf(
  c: Context<ApiEnv>,
): Promise<{ text: string } | { text?: never; detail: string } | "slow"> {
  const reading = readAtMost(c, bodyBytesMax).then(
    (bytes) =>
      bytes === undefined ? { detail: `must be at most ${bodyBytesMax} bytes` } : textIn(bytes),
    () => ({ detail: "was cut off" }),
  );
  return withTimeLimit(reading, bodySecondsMax).catch(() => "slow" as const);
}

function textIn(bytes: Uint8Array): { text: string } | { detail: string } {
  try {
    return { text: decoder.decode(bytes) };
  } catch {
    return { detail: "must be UTF-8" };
  }
}

/**
 * Composes the message, or the error for a callback that its sender must correct. The URL of one call is enough for a
 * hint. The body is read only if it is signed, or if an account's calls share a URL and the body names the call.
 */
async function messageOf(
  c: Context<ApiEnv>,
  { clock, log, settings }: ApiDeps,
  judge: Judge,
): Promise<Callback | Response | "slow"> {
  const { account, call, provider } = c.get("callback");
  const hint: Callback = { kind: "callback", account, ...(call === undefined ? {} : { call }) };
  const listed = settings.table.kinds.callbackHeadersOf(provider);
  const headers = (listed ?? []).flatMap((name) => {
    const value = c.req.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  // Nothing but its headers shows if a callback of an account that the plan has no longer is signed.
  const isSigned = provider === undefined ? headers.length > 0 : listed !== undefined;
  if (!isSigned && call !== undefined) return hint;
  const receivedAt = clock.now();
  const read = await bodyOf(c);
  if (read === "slow") return "slow";
  const { text: body } = read;
  const isJudged = provider === "webhook";
  if (body === undefined) {
    return isJudged ? refuseBody(c, [{ pointer: "", detail: read.detail }], log) : hint;
  }
  if (!isSigned) {
    const callId = findCallId(body);
    return callId === undefined ? hint : { ...hint, callId };
  }
  const signed = { body, headers: Object.fromEntries(headers), receivedAt };
  return (isJudged ? judge(c, signed) : undefined) ?? { ...hint, signed };
}
