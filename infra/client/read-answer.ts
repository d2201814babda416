/** Reads answers that are no success. Something between may have made them, so nothing of their form is certain. */
import type { RequestError } from "./types.ts";

interface ProblemParts {
  detail?: string;
  errors?: RequestError[];
}

/** Reads a problem. Of what is not problem+json no word is taken: it may repeat what was sent. */
export function readProblem({ headers }: Response, body: unknown): ProblemParts {
  if (!/^application\/problem\+json\b/i.test(headers.get("content-type") ?? "")) return {};
  const { detail, errors }: { detail?: unknown; errors?: unknown } = Object(body);
  return {
    ...(typeof detail === "string" ? { detail } : {}),
    ...(Array.isArray(errors) ? { errors: errors.map(readError) } : {}),
  };
}

function readError(error: unknown): RequestError {
  const fields = Object.entries(Object(error)).map(([name, value]) => [name, String(value)]);
  return { detail: "", ...Object.fromEntries(fields) };
}

/** True for a 422 to a key that was used for another request. */
export function isKeyRefusal(response: Response, body: unknown): boolean {
  const { errors = [] } = readProblem(response, body);
  return (
    response.status === 422 &&
    errors.some(({ header }) => header?.toLowerCase() === "idempotency-key")
  );
}

/** Reads `Retry-After`, which is seconds or a date, in milliseconds. */
export function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : undefined;
  const ms = seconds === undefined ? Date.parse(value) - Date.now() : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
