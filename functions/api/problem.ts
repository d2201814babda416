import type { Context } from "hono";
import { errorsMax } from "../../shared/calls/call.ts";
import type * as z from "../../shared/platform/zod.ts";

/** One error of a request: its place (a JSON Pointer, or a header's name) and its description. */
export type ProblemError = { pointer: string; detail: string } | { header: string; detail: string };

export const titles = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  409: "Conflict",
  422: "Unprocessable request",
  500: "Internal error",
  503: "Service unavailable",
} as const;

/**
 * Returns an answer in `application/problem+json` (RFC 9457). It names errors and their places, never values:
 * a number or a context value must not come back in an error.
 */
export function problem(
  c: Context,
  status: keyof typeof titles,
  detail: string,
  more: { errors?: ProblemError[]; headers?: Record<string, string> } = {},
): Response {
  const { errors, headers = {} } = more;
  const requestId: unknown = c.get("requestId");
  return c.body(JSON.stringify({ title: titles[status], status, detail, errors }), status, {
    "content-type": "application/problem+json",
    ...(typeof requestId === "string" ? { "x-request-id": requestId } : {}),
    ...headers,
  });
}

/** Returns 422: nothing of the request was accepted. */
export function unprocessable(c: Context, errors: ProblemError[]): Response {
  return problem(c, 422, "Nothing was accepted: see errors.", { errors });
}

/**
 * Returns a hook for `zValidator`: a request that does not fit its schema is answered 422.
 *
 * @param unknownField the error of a field that the schema does not have
 */
export function refuse(unknownField: string) {
  return (
    result: { success: true } | { success: false; error: z.ZodError },
    c: Context,
  ): Response | undefined =>
    result.success ? undefined : unprocessable(c, errorsOf(result.error.issues, unknownField));
}

/** Returns the errors of a value that does not fit its schema: the first hundred, in document order. */
export function errorsOf(
  issues: readonly z.core.$ZodIssue[],
  unknownField: string,
): ProblemError[] {
  const errors = issues.slice(0, errorsMax).flatMap((issue): ProblemError[] => {
    if (issue.code !== "unrecognized_keys") {
      return [{ pointer: pointerOf(issue.path), detail: issue.message }];
    }
    return issue.keys.slice(0, errorsMax).map((key) => ({
      pointer: pointerOf([...issue.path, key]),
      detail: unknownField,
    }));
  });
  return errors.slice(0, errorsMax);
}

/**
 * Returns a JSON Pointer (RFC 6901). A key chosen by the client ends the pointer unless it looks like a
 * field's name: the key may contain a phone number, or a person's name.
 */
export function pointerOf(path: readonly PropertyKey[]): string {
  let pointer = "";
  for (const step of path) {
    const name = String(step);
    if (typeof step !== "number" && !/^(?!(?:\D*\d){5})[A-Za-z_][\w-]{0,39}$/.test(name)) break;
    pointer += `/${name}`;
  }
  return pointer;
}
