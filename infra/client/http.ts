/**
 * Rules for all requests to the service, of the library, of the command line and of the MCP server: https except to this
 * machine, no redirect, one time limit. It stands in the library's package, which is alone wherever it is installed, and has
 * no imports.
 */

/** Time limit of a request and of reading its answer, in milliseconds. The service answers within 30 s or not at all. */
export const answerMsMax = 35_000;

/** Sends a request to a URL. */
export type SendTo = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Returns the service's address without a slash at its end.
 *
 * @throws {RangeError} if a token would be sent without encryption, or the address is none
 */
export function requireAddress(url: string): string {
  if (!URL.canParse(url)) throw new RangeError("The service's address is not a URL.");
  const { protocol, hostname, username, password, search, hash } = new URL(url);
  const isLoopback =
    hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback)) {
    throw new RangeError("The service's address must be https; plain http only to this machine.");
  }
  if (username !== "" || password !== "" || search !== "" || hash !== "") {
    throw new RangeError("The service's address must have no user, query or fragment.");
  }
  return url.replace(/\/+$/, "");
}

/**
 * Returns the settings of a request that follows no redirect, which would send calls and the token to another address, and
 * ends after its time.
 */
export function limitedInit(
  signal: AbortSignal | null | undefined,
  msMax: number = answerMsMax,
): { redirect: "manual"; signal: AbortSignal } {
  const limit = AbortSignal.timeout(msMax);
  const both = signal === undefined || signal === null ? limit : AbortSignal.any([signal, limit]);
  return { redirect: "manual", signal: both };
}

/** Creates a function that sends requests by these rules. It rejects with a RangeError for an address that is not allowed. */
export function createSend(fetch: SendTo, msMax: number = answerMsMax): SendTo {
  return async (url, init) => {
    requireAddress(url.replace(/[?#].*$/s, ""));
    return fetch(url, { ...init, ...limitedInit(init.signal, msMax) });
  };
}
