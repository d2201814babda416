import type { Context } from "hono";
import type * as z from "zod";
import { errorsMax } from "../../shared/calls/call.ts";

/** One thing that is wrong with a request: where (a JSON Pointer, or a header's name) and what. */
export type ProblemError = { pointer: string; detail: string } | { header: string; detail: string };

const titles = {
  401: "Unauthorized",
  404: "Not found",
  405: "Method not allowed",
  409: "Conflict",
  422: "Unprocessable request",
  500: "Internal error",
  503: "Service unavailable",
} as const;

/**
 * An answer in `application/problem+json` (RFC 9457). It says what is wrong and where, never what the value
 * was: a number or a context value does not come back in an error.
 */
export function problem(
  c: Context,
  status: keyof typeof titles,
  detail: string,
  more: { errors?: ProblemError[]; headers?: Record<string, string> } = {},
): Response {
  const { errors, headers = {} } = more;
  return c.body(JSON.stringify({ title: titles[status], status, detail, errors }), status, {
    "content-type": "application/problem+json",
    ...headers,
  });
}

/** 422: nothing of the request was accepted. */
export function unprocessable(c: Context, errors: ProblemError[]): Response {
  return problem(c, 422, "Nothing was accepted: see errors.", { errors });
}

/** The errors of a body that does not fit its schema: the first hundred, in document order. */
export function errorsOf(
  issues: readonly z.core.$ZodIssue[],
  unknownKey = "is not a field of a call: phone_number, agent_id, context or timezone",
): ProblemError[] {
  const errors = issues.slice(0, errorsMax).flatMap((issue): ProblemError[] => {
    if (issue.code !== "unrecognized_keys") {
      return [{ pointer: pointerOf(issue.path), detail: issue.message }];
    }
    return issue.keys.slice(0, errorsMax).map((key) => ({
      pointer: pointerOf([...issue.path, key]),
      detail: unknownKey,
    }));
  });
  return errors.slice(0, errorsMax);
}

/**
 * A JSON Pointer (RFC 6901). A key of the client's own making ends the pointer unless it looks like a
 * field's name: it may be a number, its digits together or apart, or a name of somebody's.
 */
function pointerOf(path: readonly PropertyKey[]): string {
  let pointer = "";
  for (const step of path) {
    const name = String(step);
    if (typeof step !== "number" && !/^(?!(?:\D*\d){5})[A-Za-z_][\w-]{0,39}$/.test(name)) break;
    pointer += `/${name}`;
  }
  return pointer;
}
