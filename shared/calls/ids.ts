import type * as z from "../lib/zod.ts";

/** Crockford's base32: digits and capitals without I, L, O and U, in the order of their values. */
const base32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** All pairs of digits in the order of their values. Making an id of pairs takes two thirds of the time. */
const pairs = Array.from(base32).flatMap((first) => Array.from(base32, (second) => first + second));
const timeDigits = 10;
const randomDigits = 13;
const callsDigits = 3;
const requestIdDigits = timeDigits + randomDigits + callsDigits;
const indexDigits = 5;

/**
 * Creates a request's id: a ULID of 26 characters with 48 bits of time, 65 random bits, and 15 bits in which
 * `withCalls` stores the number of calls. Ids sort by acceptance and cannot be guessed.
 *
 * @param now milliseconds since the epoch
 * @param randomHex at least 32 hex digits of a UUID (version 4) without hyphens; the UUID's fixed bits are not used
 */
export function createRequestId(now: number, randomHex: string): string {
  let id = "";
  for (let rest = now, digit = 0; digit < timeDigits; digit += 2) {
    id = `${pairs[rest % pairs.length]}${id}`;
    rest = Math.floor(rest / pairs.length);
  }
  // Digits 12 and 16 of a UUID hold its version and its variant. Five hex digits are two pairs.
  for (const from of [0, 17, 22, 27]) {
    const bits = parseInt(randomHex.slice(from, from + 5), 16);
    id += `${pairs[bits >> 10]}${pairs[bits % pairs.length]}`;
  }
  return withCalls(id, 0);
}

/** Digits of twenty of an id's random bits, which issued-ids.ts uses. */
const tagDigits = { start: 18, end: 22 } as const;

/** Returns those twenty bits of a request's id. */
export function bitsIn(requestId: string): number {
  let bits = 0;
  for (const digit of requestId.slice(tagDigits.start, tagDigits.end))
    bits = bits * 32 + base32.indexOf(digit);
  return bits;
}

/** Replaces those twenty bits. */
export function withBits(requestId: string, bits: number): string {
  const digits = `${pairs[bits >> 10]}${pairs[bits % pairs.length]}`;
  return requestId.slice(0, tagDigits.start) + digits + requestId.slice(tagDigits.end);
}

/**
 * Stores the number of calls in a request's id. Accepting writes only the message, so until a call has a row, only
 * the id says how many calls there are.
 */
export function withCalls(requestId: string, calls: number): string {
  const high = base32[calls >> 10] ?? "0";
  return `${requestId.slice(0, -callsDigits)}${high}${pairs[calls % pairs.length]}`;
}

/** Returns the number of calls stored in a request's id; 0 if none was stored. */
export function callsIn(requestId: string): number {
  let calls = 0;
  for (const digit of requestId.slice(-callsDigits)) calls = calls * 32 + base32.indexOf(digit);
  return calls;
}

const requestIdPattern = /^[0-9A-HJKMNP-TV-Z]{26}$/i;
const callIdPattern = /^call_([0-9A-HJKMNP-TV-Z]{26}_\d{5})$/i;

/** Reads a request's id in upper or lower case, as Crockford's base32 does. Undefined: the text is no id. */
export function readRequestId(text: string): string | undefined {
  return requestIdPattern.test(text) ? text.toUpperCase() : undefined;
}

/**
 * Reads a call's id in upper or lower case. Undefined: the text is no id, and must not reach adapters, which split
 * ids.
 */
export function readCallId(text: string): string | undefined {
  const [, digits] = callIdPattern.exec(text) ?? [];
  return digits && `call_${digits.toUpperCase()}`;
}

const namedCallPattern = /call_[0-9A-HJKMNP-TV-Z]{26}_\d{5}/;

/** Finds a call's id in the body of a callback, in which providers repeat it. */
export function findCallId(body: string): string | undefined {
  return namedCallPattern.exec(body)?.[0];
}

/**
 * Returns the id of the call at `index` of a request. A client that knows the `X-Request-Id` of a 201 knows
 * the ids of all its calls.
 */
export function toCallId(requestId: string, index: number): string {
  return `call_${requestId}_${String(index).padStart(indexDigits, "0")}`;
}

/** Returns the id of the request that contained a call. */
export function requestIdOf(callId: string): string {
  return callId.slice("call_".length, "call_".length + requestIdDigits);
}

/** Returns the index of a call in its request. */
export function indexOf(callId: string): number {
  return Number(callId.slice(-indexDigits));
}

/**
 * Returns the time in the id of a request or a call, in milliseconds since the epoch. Only searches may use it:
 * whether a call has expired is decided by `acceptedAt`, which a replay may have renewed.
 */
export function timeOfId(id: string): number {
  const digits = (id.startsWith("call_") ? requestIdOf(id) : id).slice(0, timeDigits);
  let time = 0;
  for (const digit of digits) time = time * 32 + Math.max(0, base32.indexOf(digit));
  return time;
}

/** Returns the lowest id that a call accepted at `time` can have. */
export function firstCallIdAt(time: number): string {
  return `call_${createRequestId(Math.max(0, time), "0".repeat(32))}_`;
}

/** Beginning of the names of clients whose calls are tests. No token, plan or document may name such a client itself. */
const testPrefix = "test:";

/** Modes of calls: `live` ones reach people, tests are dialed by a sandbox and no real provider. */
export const modes = ["live", "test"] as const;
export type Mode = (typeof modes)[number];

/** A client by the name under which its calls are stored, and what they are. */
export interface ClientOfMode {
  client: string;
  mode: Mode;
}

/** Returns what the calls of a client are. Calls, rows, messages and callers have it as a field. */
export function modeOf(client: string): Mode {
  return isTestClient(client) ? "test" : "live";
}

/** True if a name is that of a client whose calls are tests. */
export function isTestClient(client: string): boolean {
  return client.startsWith(testPrefix);
}

/** Returns the client under whose name a client's test calls are stored and counted, apart from its real ones. */
export function testClientOf(client: string): string {
  return testPrefix + client;
}

/**
 * Returns the text by whose hash a number is known to a client's calls. Each client's test calls have hashes of their own,
 * so that their frequency caps and opt-outs concern no other calls to the number.
 */
export function hashedNumberOf({
  client,
  mode,
  request,
}: ClientOfMode & { request: { phone_number: string } }): string {
  return mode === "test" ? `${client} ${request.phone_number}` : request.phone_number;
}

/** Returns the client as its tokens name it. */
export function realClientOf({ client, mode }: ClientOfMode): string {
  return mode === "test" ? client.slice(testPrefix.length) : client;
}

/** Returns a client by its name alone, where no call, row or token has its mode. */
export function clientNamed(client: string): ClientOfMode {
  return { client, mode: modeOf(client) };
}

/**
 * Name of the account of a route: one of the dial plan's `providers`, or that of a test client beside it. No plain string
 * is one, so that the compiler refuses to compare it with a type of provider.
 */
export type AccountName = string & z.core.$brand<"AccountName">;

/** Says that a text names an account, which whoever parses a plan, a row or a request knows. */
export function toAccountName(name: string): AccountName {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a brand has no other source
  return name as AccountName;
}
