import { type Context, Hono } from "hono";
import { typeOfAccount } from "../../../shared/dial-plan/routes.ts";
import { type CallbackSubject, isCallbackMac } from "../../../shared/platform/callback-address.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import { withTimeLimit } from "../../../shared/platform/time-limit.ts";
import { callbackHeadersOf } from "../../../shared/providers/index.ts";
import type { EventMessage } from "../../../shared/queue/event-messages.ts";
import type { ApiDeps, ApiEnv } from "../context.ts";
import { readAtMost } from "../middleware/read-json.ts";
import { problem } from "../problem.ts";

type Callback = Extract<EventMessage, { kind: "callback" }>;

/** Maximum size of a callback's body that is read. A longer one is a hint all the same. */
const bodyBytesMax = 64 * 1024;
/** Time limit for a callback's body. */
const bodySecondsMax = 5;

/**
 * Creates the routes at which providers tell of a call's end. A callback is a hint: it goes onto the events queue, and
 * the dialer reads the provider's record. The last part of the path is a code that only this service can make. Without
 * the right one nothing is read, queued or logged, and the answer is that of an unknown path.
 */
export function createCallbacks(deps: ApiDeps): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.all("/:account/:mac", (c) =>
    takeCallback(c, deps, { account: c.req.param("account") }, c.req.param("mac")),
  );
  app.all("/:account/:id/:claim/:mac", (c) => {
    const { account, id, claim, mac } = c.req.param();
    return takeCallback(c, deps, { account, call: { id, claim } }, mac);
  });
  return app;
}

async function takeCallback(
  c: Context<ApiEnv>,
  deps: ApiDeps,
  subject: CallbackSubject,
  mac: string,
): Promise<Response> {
  const { eventsQueue, settings, clock, log } = deps;
  const { account, call } = subject;
  if (!isCallbackMac(mac, subject, settings.hashKey)) return c.notFound();
  const type = typeOfAccount(account, settings.plan);
  if (type === undefined) return c.notFound(); // the plan has had this account
  if (c.req.method !== "POST") {
    return problem(c, 405, "Only POST is known here.", { headers: { allow: "POST" } });
  }
  const message = await messageOf(c, subject, type, clock.now());
  const fields = {
    request_id: c.get("requestId"),
    provider: account,
    ...(call === undefined ? {} : { call_id: call.id }),
  };
  try {
    await eventsQueue.send(message);
  } catch (error) {
    log("alarm", "queue.unreachable", { ...fields, error: errorForLog(error) });
    const detail = "The queue did not take the callback. Send it again.";
    return problem(c, 503, detail, { headers: { "retry-after": "30" } });
  }
  log("info", "callback.taken", fields);
  return c.body(null, 204);
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the body's text; undefined if it is too long or slow, breaks off, or is no UTF-8. */
async function bodyOf(c: Context<ApiEnv>): Promise<string | undefined> {
  try {
    const bytes = await withTimeLimit(readAtMost(c, bodyBytesMax), bodySecondsMax);
    return bytes && decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A call's id, which providers repeat in their callbacks. */
const callIdPattern = /call_[0-9A-HJKMNP-TV-Z]{26}_\d{5}/;

/**
 * Composes the message. The address of one call says all that a hint needs, so that the body is read only where it is
 * signed, or where an account's calls share an address: then it names the call.
 */
async function messageOf(
  c: Context<ApiEnv>,
  { account, call }: CallbackSubject,
  type: string,
  receivedAt: number,
): Promise<Callback> {
  const hint: Callback = { kind: "callback", account, ...(call === undefined ? {} : { call }) };
  const signing = callbackHeadersOf(type);
  if (signing === undefined && call !== undefined) return hint;
  const body = await bodyOf(c);
  if (body === undefined) return hint;
  if (signing === undefined) {
    const [callId] = callIdPattern.exec(body) ?? [];
    return callId === undefined ? hint : { ...hint, callId };
  }
  const headers = signing.flatMap((name) => {
    const value = c.req.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...hint, signed: { body, headers: Object.fromEntries(headers), receivedAt } };
}
