import type { Context } from "hono";
import { errorsMax } from "#shared/calls/call-request.ts";
import type * as z from "#shared/lib/zod.ts";

/** One error of a request: its location (a JSON Pointer, or the name of a parameter or header) and its description. */
export type ProblemError =
  | { pointer: string; detail: string }
  | { parameter: string; detail: string }
  | { header: string; detail: string };

export const titles = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  409: "Conflict",
  422: "Unprocessable request",
  429: "Too many requests",
  500: "Internal error",
  503: "Service unavailable",
} as const;

interface ProblemFields {
  detail: string;
  errors?: ProblemError[];
  headers?: Record<string, string>;
}

/**
 * Returns an answer in `application/problem+json` (RFC 9457). It names errors and their locations, never values, as
 * an error must not repeat a number or a context.
 */
export function answerProblem(
  c: Context,
  status: keyof typeof titles,
  { detail, errors, headers = {} }: ProblemFields,
): Response {
  const requestId: unknown = c.get("requestId");
  return c.body(JSON.stringify({ title: titles[status], status, detail, errors }), status, {
    "content-type": "application/problem+json",
    ...(typeof requestId === "string" ? { "x-request-id": requestId } : {}),
    ...headers,
  });
}

/** Returns 422: nothing of the request was accepted. */
export function answerUnprocessable(c: Context, errors: ProblemError[]): Response {
  if (c.req.method === "GET" || c.req.method === "HEAD") {
    return answerProblem(c, 422, {
      detail: "A parameter is wrong: see errors.",
      errors: errors.map(ofParameter),
    });
  }
  return answerProblem(c, 422, { detail: "Nothing was accepted: see errors.", errors });
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
    result.success
      ? undefined
      : answerUnprocessable(c, toErrors(result.error.issues, unknownField));
}

/** Returns the errors of a value that does not fit its schema: the first hundred, in document order. */
export function toErrors(
  issues: readonly z.core.$ZodIssue[],
  unknownField: string,
): ProblemError[] {
  const errors = issues.slice(0, errorsMax).flatMap((issue): ProblemError[] => {
    if (issue.code !== "unrecognized_keys") {
      return [{ pointer: toPointer(issue.path), detail: issue.message }];
    }
    // The name of an unknown field is only repeated if it looks like a name, as it may be a misplaced value.
    return issue.keys.slice(0, errorsMax).map((key) => ({
      pointer: toPointer(isFieldName(key) ? [...issue.path, key] : issue.path),
      detail: unknownField,
    }));
  });
  return errors.slice(0, errorsMax);
}

/** True if a key looks like a field's name. A key with five digits may be a phone number. */
function isFieldName(key: string): boolean {
  return /^[A-Za-z_][\w-]{0,39}$/.test(key) && !/(?:\d\D*){5}/.test(key);
}

/** Returns a JSON Pointer (RFC 6901). */
export function toPointer(path: readonly PropertyKey[]): string {
  return path
    .map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

/** Names a query parameter by its name, because pointers are only for documents. */
function ofParameter(error: ProblemError): ProblemError {
  if (!("pointer" in error)) return error;
  const [, name = ""] = error.pointer.split("/");
  return { parameter: name.replaceAll("~1", "/").replaceAll("~0", "~"), detail: error.detail };
}
