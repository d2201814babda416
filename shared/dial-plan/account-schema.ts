import { isPlannedType, plannedTypes } from "../calls/provider-types.ts";
import { timeoutSecondsMax } from "../lib/timing.ts";
import { baseUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";

/** Names of the kinds of provider, for people. */
export const typesText = plannedTypes.join(", ");

/** The error of a route or an agent whose account is unknown. */
export const mustBeAccount = `must be an account of providers, or one of ${typesText}`;

/** Settings of an account at a provider. */
export const accountSchema = z
  .strictObject({
    /** The kind of provider. Defaults to the account's name. */
    type: z.optional(z.string().check(z.refine(isPlannedType, `must be one of ${typesText}`))),
    /** Base URL of the provider's API for this account, such as that of a region. */
    baseUrl: z.optional(baseUrl),
    /** Maximum time for the provider's answer. The default depends on the account's type. */
    timeoutSeconds: z.optional(z.int().check(z.minimum(1), z.maximum(timeoutSecondsMax))),
    /** Maximum requests under way at once in one delivery of the queue. Absent: as many as the platform allows. */
    concurrency: z.optional(z.int().check(z.minimum(1), z.maximum(100))),
    /** Maximum rate that the carrier accepts. It may be a fraction. */
    callsPerSecond: z.optional(z.number().check(z.minimum(0.02), z.maximum(1000))),
    /** Calls that may go at once after a pause. */
    burst: z._default(z.int().check(z.minimum(1), z.maximum(1000)), 1),
    /** Maximum calls in one day, UTC. */
    callsPerDay: z.optional(z.int().check(z.minimum(1), z.maximum(1_000_000))),
    /** Maximum calls that ring or are in progress at once. */
    liveCalls: z.optional(z.int().check(z.minimum(1), z.maximum(500))),
    /** Maximum duration of a call. It is sent to providers that accept one, and bounds how long a call counts as live. */
    maxCallMinutes: z.optional(z.int().check(z.minimum(1), z.maximum(240))),
    /** Duration of a call that forecasts assume until some calls have ended. */
    meanCallSeconds: z._default(z.int().check(z.minimum(1), z.maximum(14_400)), 120),
    /** Maximum rate of requests for results. */
    pollsPerSecond: z._default(z.number().check(z.minimum(0.1), z.maximum(100)), 2),
  })
  .check(
    z.refine(({ burst, callsPerSecond }) => burst === 1 || callsPerSecond !== undefined, {
      path: ["burst"],
      error: "needs callsPerSecond beside it",
    }),
  );
