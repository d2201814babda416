/**
 * Returns a request under a bearer token, with a body as JSON; text is sent as it is. Without a body it has no content
 * type. Headers of `more` are added, or replace these.
 */
export function jsonRequest(
  token: string,
  method: string,
  body?: unknown,
  more: Record<string, string> = {},
) {
  const authorization = `Bearer ${token}`;
  if (body === undefined) return { method, headers: { authorization, ...more } };
  const headers = { authorization, "content-type": "application/json", ...more };
  return { method, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}
