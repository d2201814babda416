import { timingSafeEqual } from "node:crypto";
import type { Route } from "../calls/call-request.ts";
import { isLoopback, readBaseUrl } from "../lib/https-url.ts";
import { hmacUnder } from "../lib/hmac.ts";
import { type RotatedKeys, listKeys } from "../lib/rotated-keys.ts";

/** Subject of a callback URL: one placed call of an account, or the whole account. */
export interface CallbackSubject {
  /** Name of the account: a key of the dial plan's `providers`, or a provider's type. */
  account: string;
  /** Absent: one URL for all calls. */
  call?: CallbackCall | undefined;
}

/** The call of a callback URL. */
export interface CallbackCall {
  id: string;
  /** Version of the claim under which the call was placed. */
  claim: string;
  /** Keyed hash of its number. By it an opt-out is listed though a restore of the ledger has lost the row. */
  numberHash?: string | undefined;
}

/**
 * Returns the URL to which a provider reports a call's end. Its last part, 132 bits of an HMAC-SHA256 under HASH_KEY,
 * proves that this service made the URL. Whoever knows the URL can only cause a poll of its call.
 *
 * @param publicUrl PUBLIC_URL, without a slash at its end
 */
export function callbackAddress(
  publicUrl: string,
  { hashKey, ...subject }: CallbackSubject & { hashKey: string },
): string {
  return [publicUrl, "callbacks", ...partsOf(subject), codesUnder(hashKey)(subject)].join("/");
}

/** Returns the callback URL for a call along a route. Undefined if the provider cannot reach PUBLIC_URL. */
export function callbackAddressAlong(
  route: Route,
  call: CallbackCall,
  { publicUrl, hashKey }: { publicUrl: string; hashKey: string },
): string | undefined {
  const target = "url" in route ? route.url : "baseUrl" in route ? route.baseUrl : undefined;
  // A real provider cannot reach this machine, and may refuse a call with such a URL.
  if (isLoopback(publicUrl) && !isLoopback(target ?? "")) return undefined;
  return callbackAddress(publicUrl, { account: route.account, call, hashKey });
}

/**
 * Creates the check whether `code` is the last part of a subject's address, under one of the keys. It takes as long for
 * any wrong code.
 */
export function callbackCheck({
  hashKeys,
}: {
  hashKeys: RotatedKeys;
}): (address: { subject: CallbackSubject; code: string }) => boolean {
  const codes = listKeys(hashKeys).map(codesUnder);
  return ({ subject, code }) => {
    const given = Buffer.from(code);
    return codes.some((codeOf) => {
      const right = Buffer.from(codeOf(subject));
      return given.length === right.length && timingSafeEqual(given, right);
    });
  };
}

/** Characters of the code, in base64url. */
const codeCharacters = 22;

function codesUnder(hashKey: string): (subject: CallbackSubject) => string {
  const hmac = hmacUnder(hashKey);
  // JSON keeps subjects distinct. No number, request or order that is hashed under the same key begins like it.
  return (subject) =>
    hmac(JSON.stringify(["callback", ...partsOf(subject)])).slice(0, codeCharacters);
}

function partsOf({ account, call }: CallbackSubject): string[] {
  if (call === undefined) return [account];
  const { id, claim, numberHash } = call;
  return [account, id, claim, ...(numberHash === undefined ? [] : [numberHash])];
}

/**
 * Returns PUBLIC_URL, under which providers reach the API, without slashes at its end. Undefined if it is not set:
 * then there are no callbacks.
 *
 * @throws an Error that describes a wrong value
 */
export function readPublicUrl({
  PUBLIC_URL,
}: Record<string, string | undefined>): string | undefined {
  return PUBLIC_URL ? readBaseUrl("PUBLIC_URL", PUBLIC_URL) : undefined;
}
