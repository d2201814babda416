import { campaignName } from "./campaign-header.ts";
import { requireAddress } from "./http.ts";
import type { RetryOptions } from "./types.ts";

/** A check of one option: returns what is wrong with its value, or undefined. */
type Check = (value: unknown) => string | undefined;

const aSignal: Check = (value) =>
  value instanceof AbortSignal ? undefined : "must be an AbortSignal";
const aPositiveTime: Check = (value) =>
  typeof value === "number" && value >= 0 ? undefined : "must be a number of milliseconds from 0";
const anObject: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? undefined
    : "must be an object";
const aFunction: Check = (value) =>
  typeof value === "function" ? undefined : "must be a function";
const aBoolean: Check = (value) => (typeof value === "boolean" ? undefined : "must be a boolean");
const aText: Check = (value) => (typeof value === "string" ? undefined : "must be a string");
const aTextThat =
  (pattern: RegExp, words: string): Check =>
  (value) =>
    typeof value === "string" && pattern.test(value) ? undefined : words;
const aCount: Check = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 1 ? undefined : "must be a whole number from 1";
const indexes: Check = (value) =>
  Array.isArray(value) && value.every((one) => Number.isSafeInteger(one) && one >= 0)
    ? undefined
    : "must be an array of indexes from 0";

/** RFC 3339 with seconds and an offset, as the service takes it. */
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;
const aTime: Check = (value) => {
  const isTime =
    value instanceof Date
      ? !Number.isNaN(value.getTime())
      : typeof value === "string" && instant.test(value) && !Number.isNaN(Date.parse(value));
  return isTime ? undefined : "must be a valid Date, or a time such as 2026-11-21T09:00:00Z";
};

/** Checks of the options that every method has. */
const ofCalls = { signal: aSignal, msMax: aPositiveTime };

export const placeChecks = {
  ...ofCalls,
  idempotencyKey: aTextThat(
    /^[!-+\--~](?:[ -+\--~]{0,238}[!-+\--~])?$/,
    "must be 1 to 240 printable ASCII characters without a comma, and without spaces at its ends",
  ),
  notBefore: aTime,
  urgent: aBoolean,
  campaign: aTextThat(
    campaignName,
    "must be 1 to 64 characters, without spaces at its ends or control characters",
  ),
};
export const callChecks = ofCalls;
export const cancelChecks = { ...ofCalls, indexes };
export const listChecks = { ...ofCalls, from: aText, to: aText, campaign: aText };
export const filterChecks = { ...ofCalls, state: aText, result: aText };
export const usageChecks = { ...ofCalls, from: aText, to: aText, groupBy: aText };
export const optOutChecks = { ...ofCalls, scope: aText, reason: aText };
export const replayChecks = { ...ofCalls, from: aTime, until: aTime };

const clientChecks = {
  baseUrl: aText,
  token: aTextThat(/^[!-~]+$/, "must be a token: printable ASCII without spaces"),
  fetch: aFunction,
  retry: anObject,
};
const retryChecks: Record<keyof RetryOptions, Check> = {
  triesMax: aCount,
  msMax: aPositiveTime,
  tryMsMax: aPositiveTime,
  delayMs: aPositiveTime,
  delayMsMax: aPositiveTime,
};

/**
 * Checks the options of a method by name, before anything is sent. A misspelt name is one that the method does not have:
 * silently ignored, it could call somebody at a time that was not meant.
 *
 * @throws {TypeError} names the option that the method does not have
 * @throws {RangeError} names the option whose value is wrong, and never shows the value
 */
export function checkOptions(
  method: string,
  options: object | undefined,
  checks: Readonly<Record<string, Check>>,
): void {
  if (options !== undefined && anObject(options) !== undefined) {
    throw new TypeError(`The options of ${method} must be an object.`);
  }
  for (const [name, value] of Object.entries(options ?? {})) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) {
      throw new TypeError(
        `${method} has no option ${name}. It has ${Object.keys(checks).join(", ")}.`,
      );
    }
    const problem = value === undefined ? undefined : check(value);
    if (problem !== undefined) throw new RangeError(`${name} of ${method} ${problem}.`);
  }
}

/** Checks the options of a client, and returns its address. @throws as `checkOptions` */
export function checkClientOptions(options: {
  baseUrl: string;
  token: string;
  retry?: RetryOptions;
}): string {
  checkOptions("createClient", options, clientChecks);
  checkOptions("retry", options.retry, retryChecks);
  for (const name of ["baseUrl", "token"] as const) {
    if (options[name] === undefined) throw new RangeError(`${name} of createClient is missing.`);
  }
  try {
    return requireAddress(options.baseUrl);
  } catch (error) {
    const words = error instanceof Error ? error.message : "";
    throw new RangeError(`baseUrl of createClient is wrong: ${words}`, { cause: error });
  }
}

/** Returns the id of a request as the service writes it. @throws {RangeError} if it is none */
export function requireRequestId(id: unknown): string {
  if (typeof id === "string" && /^[0-9A-HJKMNP-TV-Z]{26}$/i.test(id)) return id;
  throw new RangeError("requestId must be the 26 characters of an X-Request-Id.");
}

/** Returns the id of a call. @throws {RangeError} if it is none */
export function requireCallId(id: unknown): string {
  if (typeof id === "string" && /^call_\w{1,60}$/.test(id)) return id;
  throw new RangeError(
    "callId must be a call's id, such as call_01KAJ6Y5G0QZ3N4T7V8W9XABCD_00000.",
  );
}

/** Returns the name of a receiver. @throws {RangeError} if it can be none, which another path would be */
export function requireReceiverName(name: unknown): string {
  if (typeof name === "string" && /^[a-z0-9][a-z0-9_-]{0,31}$/.test(name)) return name;
  const words = "1 to 32 of a to z, 0 to 9, - and _, and begin with a letter or digit";
  throw new RangeError(`name must be ${words}.`);
}
