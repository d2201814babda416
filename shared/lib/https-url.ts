import * as z from "./zod.ts";

/** A URL of a dial plan: https, or plain http to this machine, without a user name or password. */
export const httpsUrl = z.url("must be a URL").check(
  z.refine(
    (url) => !URL.canParse(url) || url.startsWith("https:") || isPlainLoopback(url),
    "must be https; plain http only to a loopback host",
  ),
  z.refine((url) => !URL.canParse(url) || !hasUser(new URL(url)), "must not hold a user"),
);

const hasUser = ({ username, password }: URL) => username !== "" || password !== "";

export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

function isPlainLoopback(url: string): boolean {
  return url.startsWith("http:") && isLoopback(url);
}
