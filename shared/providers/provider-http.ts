import type { DialOutcome } from "./provider.ts";
import { type Send, Withheld } from "../lib/http-client.ts";

/** Maximum bytes read of the answer to a call, which may repeat the call's context. */
const answerBytesMax = 1024 * 1024;
/** Maximum bytes read of a list of calls. */
const listBytesMax = 4 * 1024 * 1024;
/** Time limit of each request of a look-up. */
const lookUpSecondsMax = 10;

/** An answer to a query exceeds 4 MiB. A smaller page of the list may fit. */
export class AnswerTooLong extends Error {}

/** An answer from a provider, as far as it could be read in time. */
export interface Answer {
  status: number;
  headers: Headers;
  /** Undefined if the body broke off, took too long or was longer than 1 MiB. */
  text: string | undefined;
}

/** Headers and time limit of a request that places a call. */
interface Posted {
  headers: Record<string, string>;
  timeoutSeconds: number;
}

/**
 * Sends exactly one POST, or a request of another `method`: follows no redirect, repeats nothing. Almost no provider
 * creates calls idempotently, so once a request may have left, only its answer shows the outcome.
 *
 * @returns the answer, or the outcome if none came
 * @throws Withheld if the request did not leave
 */
export async function post(
  send: Send,
  url: string,
  { timeoutSeconds, ...request }: Posted & { method?: string; body: string },
): Promise<Answer | DialOutcome> {
  try {
    const response = await send(url, {
      method: "POST",
      ...request,
      redirect: "manual",
      signal: AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000)), // throws unless the milliseconds are whole
    });
    const text = await readAtMost(response, answerBytesMax).catch(() => undefined);
    return { status: response.status, headers: response.headers, text };
  } catch (error) {
    return outcomeOfThrown(error);
  }
}

/** Sends one POST of JSON, like `post`. */
export function postJson(
  send: Send,
  url: string,
  { headers, json, timeoutSeconds }: Posted & { json: unknown },
): Promise<Answer | DialOutcome> {
  return post(send, url, {
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(json),
    timeoutSeconds,
  });
}

/** Statuses of a query by id that mean: there is no such record, or it is no id of this provider. */
const missingById = new Set([400, 404, 410, 422]);

/** A request for a provider's records. */
interface Query {
  headers: Record<string, string>;
  /** Filters, if the provider takes them by POST. */
  json?: unknown;
  /** True if one record is queried by its id. Then 400, 410 and 422 also mean that there is none. */
  isById?: boolean;
  timeoutSeconds?: number;
}

/**
 * Queries a provider's records by GET, or by POST of `json` if that is given.
 *
 * @returns undefined if the provider has no such record (404)
 * @throws an Error without the address if the answer cannot be read; AnswerTooLong if it exceeds 4 MiB
 */
export async function ask(
  send: Send,
  url: string,
  { headers, json, isById = false, timeoutSeconds = lookUpSecondsMax }: Query,
): Promise<unknown> {
  const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
  const response = await send(url, {
    ...body,
    headers: json === undefined ? headers : { ...headers, "content-type": "application/json" },
    redirect: "manual",
    signal: AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000)), // throws unless the milliseconds are whole
  });
  const text = await readAtMost(response, listBytesMax);
  const { status } = response;
  if (status === 404 || (isById && missingById.has(status))) return undefined;
  if (status !== 200) throw new Error(`the look-up was answered ${status}`);
  if (text === undefined) throw new AnswerTooLong("the look-up's answer is too long");
  return JSON.parse(text);
}

/**
 * Returns the outcome of a status code, for providers whose reference does not say otherwise. The caller handles 2xx.
 * Unlisted codes are unknown: a redirect may lead to the page after a placed call.
 */
export function toStatusOutcome({ status, headers }: Answer, now: number): DialOutcome {
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

/** Functions that read a provider's JSON answers. */
interface JsonReading {
  /** Finds the provider's id of the call in the body of a 2xx. */
  callIdIn(body: unknown): string | undefined;
  /** Returns the outcome of an answer if it differs from that of its status. */
  exception?(status: number, body: unknown): DialOutcome | undefined;
}

/**
 * Returns the outcome of a JSON answer: placed for a 2xx that names the call, unknown for a 2xx that cannot be read,
 * otherwise by the status. An answer that broke off is unknown, as its code may have said that the phone has rung. The
 * outcome of an unanswered request is returned unchanged.
 */
export function toOutcome(
  answer: Answer | DialOutcome,
  { callIdIn, exception }: JsonReading,
  now: number,
): DialOutcome {
  if ("kind" in answer) return answer;
  const body = jsonIn(answer.text);
  const meant = exception?.(answer.status, body);
  if (meant?.kind === "not_placed") {
    const asked = retryAfterSeconds(answer.headers, now);
    return { ...meant, ...(asked === undefined ? {} : { retryAfterSeconds: asked }) };
  }
  if (meant !== undefined) return meant;
  if (answer.text === undefined) return { kind: "unknown", code: "answer_unreadable" };
  if (answer.status < 200 || answer.status > 299) return toStatusOutcome(answer, now);
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
 * Returns `Retry-After` in seconds, at least 1, from either of its forms (RFC 9110, section 10.2.3). Zero, a past
 * date (of a clock that runs behind) and other values yield undefined, and backoff decides.
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

/**
 * Errors of a system call that makes a connection, before any part of the request has left. An open connection that
 * breaks because the host is unreachable has the same codes, so the system call matters.
 */
const notConnected = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
]);
const connecting = new Set<unknown>(["connect", "getaddrinfo"]);
/** Errors of Node, not of the system, before any part of the request has left. */
const nothingLeft = new Set([
  "CONNECT_TIMEOUT",
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
 * Returns the outcome of a thrown error. Node gives the reason in `cause.code`. A Worker's errors do not distinguish
 * a refused connection from one that broke after the request was read, so on Workers every thrown error is unknown.
 */
function outcomeOfThrown(error: unknown): DialOutcome {
  if (error instanceof Withheld) throw error;
  const cause = error instanceof Error ? error.cause : undefined;
  const code = codeOf(cause);
  if (code !== undefined && (nothingLeft.has(code) || hasNotConnected(cause))) {
    return { kind: "not_placed", code: code.toLowerCase(), unreachable: true };
  }
  const timedOut = error instanceof Error && error.name === "TimeoutError";
  return { kind: "unknown", code: timedOut ? "time_out" : "connection_broken" };
}

/** True if no connection was made to any of the host's addresses. */
function hasNotConnected(cause: unknown): boolean {
  if (cause instanceof AggregateError) {
    return cause.errors.length > 0 && cause.errors.every(hasNotConnected);
  }
  const syscall = cause instanceof Error && "syscall" in cause ? cause.syscall : undefined;
  return notConnected.has(codeOf(cause) ?? "") && connecting.has(syscall);
}

function codeOf(cause: unknown): string | undefined {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  return typeof code === "string" ? code : undefined;
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

/** Makes a table of what a provider's words mean. Each row is a meaning and its words, separated by spaces. */
export function createTable<Meaning>(...rows: [Meaning, string][]): ReadonlyMap<string, Meaning> {
  return new Map(
    rows.flatMap(([meaning, words]) => words.split(" ").map((word) => [word, meaning] as const)),
  );
}

/** A refusal without its code, which is made from the provider's word. */
export type Refusal = DialOutcome extends infer One
  ? One extends { code: string }
    ? Omit<One, "code">
    : never
  : never;
