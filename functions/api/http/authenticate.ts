import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { Caller } from "../../../shared/settings/tokens.ts";
import type { ApiEnv } from "./context.ts";
import { answerProblem } from "./problem.ts";

/**
 * Admits a request that carries exactly one known bearer token (RFC 6750), before its body is read. Any other
 * request, also one with another scheme or two tokens, is answered 401 with `WWW-Authenticate`. Hono's own
 * `bearerAuth` would answer some of these 400.
 */
export function authenticate(callerOf: (token: string) => Caller | undefined) {
  return createMiddleware<ApiEnv>(async (c, next) => {
    const caller = readCaller(c, callerOf);
    if (caller instanceof Response) return caller;
    c.set("caller", caller);
    return next();
  });
}

/** Returns the caller of a request, or the answer 401. */
export function readCaller(
  c: Context<ApiEnv>,
  callerOf: (token: string) => Caller | undefined,
): Caller | Response {
  const header = c.req.header("authorization");
  const token = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(header ?? "")?.[1];
  const caller = token === undefined ? undefined : callerOf(token);
  if (caller !== undefined) return caller;
  const detail =
    header === undefined
      ? "Send the token as Authorization: Bearer <token>."
      : "The Authorization header does not hold a valid bearer token.";
  const challenge = header === undefined ? "Bearer" : 'Bearer error="invalid_token"';
  return answerProblem(c, 401, { detail, headers: { "www-authenticate": challenge } });
}
