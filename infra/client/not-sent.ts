/** Errors of the global `fetch` that come before the first byte of a request leaves. */

/** Codes of certificates that are not trusted, which end a connection before the request. Another try ends alike. */
const certificateCodes = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Steps of a connection that come before the request, as Node names them. */
const stepsBefore = new Set(["connect", "getaddrinfo"]);

/** Reason why nothing was sent. */
export interface NotSent {
  /** The system's words, such as `connect ECONNREFUSED 127.0.0.1:8787`. */
  words: string;
  /** True if another try may end otherwise. */
  isRepeatable: boolean;
}

/**
 * Returns why nothing of a request was sent, as far as that is certain: undefined for every other error, after which the
 * service may have the request. Codes are those of Node and Bun; Deno names the step in words.
 */
export function findNotSent(error: unknown): NotSent | undefined {
  const cause: unknown = Object(error).cause;
  return readStep(error) ?? (cause === undefined ? undefined : readStep(cause));
}

function readStep(error: unknown): NotSent | undefined {
  const { code, syscall, message, errors }: Record<string, unknown> = Object(error);
  const words = typeof message === "string" && message !== "" ? message : String(code);
  // Every address of the host must have failed so.
  if (Array.isArray(errors) && errors.length > 0) {
    const all = errors.map(readStep);
    return all.every((one) => one !== undefined) ? all[0] : undefined;
  }
  if (typeof code === "string" && certificateCodes.has(code)) {
    return { words: `${code} ${words}`, isRepeatable: false };
  }
  const isBefore =
    (typeof syscall === "string" && stepsBefore.has(syscall)) ||
    code === "UND_ERR_CONNECT_TIMEOUT" ||
    code === "ConnectionRefused" ||
    /client error \(Connect\)/.test(words);
  return isBefore ? { words, isRepeatable: true } : undefined;
}
