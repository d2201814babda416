import * as z from "./zod.ts";

/** A URL of a dial plan: https, or plain http to this machine, without a user name or password. */
export const httpsUrl = z.url("must be a URL").check(
  z.refine(
    (url) => !URL.canParse(url) || url.startsWith("https:") || isPlainLoopback(url),
    "must be https; plain http only to a loopback host",
  ),
  z.refine((url) => !URL.canParse(url) || !hasUser(new URL(url)), "must not hold a user"),
);

/** A URL to which paths are appended, without slashes at its end. */
export const baseUrl = httpsUrl.check(
  z.refine((url) => !/[?#]/.test(url), "must not have a query or a fragment"),
  z.overwrite((url) => url.replace(/\/+$/, "")),
);

/**
 * Reads a base URL from a variable.
 *
 * @throws an Error that names the variable and describes a wrong value, without quoting it
 */
export function readBaseUrl(variable: string, text: string | undefined): string {
  const { data, error } = baseUrl.safeParse(text);
  if (data === undefined) throw new Error(`${variable} ${error?.issues[0]?.message}`);
  return data;
}

const hasUser = ({ username, password }: URL) => username !== "" || password !== "";

export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

function isPlainLoopback(url: string): boolean {
  return url.startsWith("http:") && isLoopback(url);
}
