import * as z from "../lib/zod.ts";

/** Returns the schema of a WebSocket of the user's own, which takes an answered call's audio. */
export const streamUrl = () =>
  z.url({ protocol: /^wss$/, error: "must be a wss:// URL" }).check(
    z.maxLength(500, "must be at most 500 characters"),
    z.refine((url) => !/[?#@]/.test(url), "must not have a query, a fragment or a user"),
  );

/** Returns the schema of a URL of the user's own, from which a provider fetches instructions. */
export const answerUrl = () =>
  z
    .url({ protocol: /^https$/, error: "must be an https URL" })
    .check(z.maxLength(500, "must be at most 500 characters"));

/** Target of an answered call: one of both. */
interface Target {
  stream?: string | undefined;
  answerUrl?: string | undefined;
}

/** Returns the check that a route has exactly one target. */
export const hasOneTarget = <Route extends Target>() =>
  z.refine<Route>((route) => (route.stream === undefined) !== (route.answerUrl === undefined), {
    error: "must have either stream or answerUrl",
  });

/** Adds the call's id to the query of a URL that serves instructions. */
export function withCallId(url: string, id: string): string {
  const address = new URL(url);
  address.searchParams.set("call_id", id);
  return address.href;
}
