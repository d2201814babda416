/**
 * Returns a request under a bearer token, with a body as JSON; text and bytes are sent as they are. Without a body it has
 * no content type.
 *
 * @param method undefined: POST with a body, GET without one
 * @param more further headers, which may replace these
 */
export function jsonRequest(
  token: string,
  method?: string,
  body?: unknown,
  more: Record<string, string> = {},
) {
  const authorization = `Bearer ${token}`;
  if (body === undefined) return { method: method ?? "GET", headers: { authorization, ...more } };
  const isMade = typeof body === "string" || body instanceof Uint8Array;
  return {
    method: method ?? "POST",
    headers: { authorization, "content-type": "application/json", ...more },
    body: isMade ? body : JSON.stringify(body),
  };
}
