import type { DialOutcome } from "./dialing-provider.ts";

/** Most that is read of what a provider answers to a call, which may repeat its context. */
const answerBytesMax = 1024 * 1024;
/** Most that is read of its list of calls. */
const listBytesMax = 4 * 1024 * 1024;
/** How long a provider is given to look a call up. */
const lookUpSecondsMax = 10;

/** An answer that came, as far as it could be read in time. */
export interface Answer {
  status: number;
  headers: Headers;
  /** Undefined where it broke off, took too long or was longer than 1 MiB. */
  text: string | undefined;
}

/**
 * Sends one POST and nothing else: no redirect is followed, nothing is repeated. Creating a call is not
 * idempotent at almost any provider, so once a request may have left, only its answer says what became of it.
 *
 * @returns the answer, or the outcome where none came
 */
export async function post(
  send: typeof fetch,
  url: string,
  request: { headers: Record<string, string>; body: string },
  timeoutSeconds: number,
): Promise<Answer | DialOutcome> {
  try {
    const response = await send(url, {
      method: "POST",
      ...request,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const text = await readAtMost(response, answerBytesMax).catch(() => undefined);
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    return outcomeOfThrown(error);
  }
}

/** Sends one POST of JSON, as `post` does. */
export function postJson(
  send: typeof fetch,
  url: string,
  { headers, json }: { headers: Record<string, string>; json: unknown },
  timeoutSeconds: number,
): Promise<Answer | DialOutcome> {
  const request = {
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(json),
  };
  return post(send, url, request, timeoutSeconds);
}

/**
 * Asks a provider for what it has recorded: by GET, or by POST of `json` where its filters are sent so.
 *
 * @returns undefined where it has nothing of that name (404)
 * @throws where its answer cannot be read, in words without the address
 */
export async function ask(
  send: typeof fetch,
  url: string,
  { headers, json }: { headers: Record<string, string>; json?: unknown },
): Promise<unknown> {
  const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
  const response = await send(url, {
    ...body,
    headers: json === undefined ? headers : { ...headers, "content-type": "application/json" },
    redirect: "manual",
    signal: AbortSignal.timeout(lookUpSecondsMax * 1000),
  });
  const text = await readAtMost(response, listBytesMax);
  if (response.status === 404) return undefined;
  if (response.status !== 200) throw new Error(`the look-up was answered ${response.status}`);
  if (text === undefined) throw new Error("the look-up's answer is too long");
  return JSON.parse(text);
}

/**
 * The outcome that a status code stands for where the provider's own reference says nothing else. 2xx is the
 * caller's to read. What is not listed is unknown: a redirect may be the page after a placed call.
 */
export function outcomeOfStatus({ status, headers }: Answer, now: number): DialOutcome {
  const code = `http_${status}`;
  switch (status) {
    case 400:
    case 404:
    case 422:
      return { kind: "rejected", code };
    case 401:
    case 402:
      return { kind: "account_refused", code };
    case 403:
      return { kind: "forbidden", code };
    case 429:
      return { kind: "not_placed", code, retryAfterSeconds: retryAfterSeconds(headers, now) };
    default:
      return { kind: "unknown", code };
  }
}

/**
 * The outcome of an answer in JSON: placed where it is 2xx and names the call; unknown where a 2xx cannot be
 * read; otherwise as its status says.
 *
 * @param callIdIn the provider's id of the call, from the body of a 2xx
 * @param exception what this provider means by an answer where that is not what its status says
 */
export function outcomeOfJson(
  answer: Answer,
  now: number,
  callIdIn: (body: unknown) => string | undefined,
  exception: (status: number, body: unknown) => DialOutcome | undefined = () => undefined,
): DialOutcome {
  const body = jsonIn(answer.text);
  const meant = exception(answer.status, body);
  if (meant?.kind === "not_placed") {
    return { ...meant, retryAfterSeconds: retryAfterSeconds(answer.headers, now) };
  }
  if (meant !== undefined) return meant;
  if (answer.status < 200 || answer.status > 299) return outcomeOfStatus(answer, now);
  const providerCallId = callIdIn(body);
  return providerCallId === undefined || providerCallId === ""
    ? { kind: "unknown", code: "answer_unreadable" }
    : { kind: "placed", providerCallId };
}

function jsonIn(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

/**
 * `Retry-After` in seconds, from either of its forms (RFC 9110, section 10.2.3): at least 1. A zero, a date
 * that has passed (as by a clock that runs behind) or anything else says nothing, and backoff decides.
 */
export function retryAfterSeconds(headers: Headers, now: number): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  const isDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(value);
  const seconds = /^\d{1,9}$/.test(value)
    ? Number(value)
    : Math.ceil(((isDate ? Date.parse(value) : Number.NaN) - now) / 1000);
  return seconds >= 1 ? seconds : undefined;
}

/** Errors of Node's sockets that come before anything of the request has left. */
const nothingLeft = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  // TLS: the certificate was refused before the request was written.
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/**
 * Node says in `cause.code` why a request failed; a Worker's errors do not tell a refused connection from
 * one that broke after the request was read, so there everything thrown is unknown.
 */
function outcomeOfThrown(error: unknown): DialOutcome {
  const cause = error instanceof Error ? error.cause : undefined;
  const code =
    cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
  if (nothingLeft.has(code))
    return { kind: "not_placed", code: code.toLowerCase(), unanswered: true };
  const timedOut = error instanceof Error && error.name === "TimeoutError";
  return { kind: "unknown", code: timedOut ? "time_out" : "connection_broken" };
}

async function readAtMost(response: Response, bytesMax: number): Promise<string | undefined> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > bytesMax) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
