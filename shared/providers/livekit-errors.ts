import * as z from "../platform/zod.ts";
import type { DialOutcome } from "./dialing-provider.ts";
import { outcomeOfSip } from "./sip-status.ts";

const errorSchema = z.object({
  code: z.string().check(z.regex(/^[a-z_]{1,40}$/)),
  msg: z._default(z.string(), ""),
  meta: z.optional(z.object({ sip_status_code: z.optional(z.coerce.string()) })),
});

/**
 * Twirp's codes by which a request is refused before it acts, each with its HTTP status (twitchtv/twirp,
 * errors.go). An unknown trunk is `not_found`. A code under another status was not written by LiveKit. So is a
 * SIP status that means a refusal: sip.go gives those 400 to 404.
 */
const refusals: ReadonlyMap<
  string,
  "not_placed" | "account_refused" | "rejected" | "route_refused"
> = new Map([
  ["resource_exhausted 429", "not_placed"],
  ["unauthenticated 401", "account_refused"],
  ["permission_denied 403", "account_refused"],
  ["invalid_argument 400", "rejected"],
  ["malformed 400", "rejected"],
  ["out_of_range 400", "rejected"],
  ["not_found 404", "route_refused"],
  ["bad_route 404", "route_refused"],
]);

/** Returns the outcome of an error if it says more than its status. */
export function exception(status: number, body: unknown): DialOutcome | undefined {
  const error = status < 400 ? undefined : errorSchema.safeParse(body).data;
  if (error === undefined) return undefined;
  const sipStatus = error.meta?.sip_status_code;
  if (sipStatus !== undefined) {
    const outcome = outcomeOfSip(sipStatus);
    return outcome.kind === "placed" || status <= 404 ? outcome : { ...outcome, kind: "unknown" };
  }
  if (/\bsip status\b/i.test(error.msg)) return { kind: "unknown", code: "sip" };
  const kind = refusals.get(`${error.code} ${status}`) ?? "unknown";
  return { kind, code: `livekit_${error.code}` };
}
