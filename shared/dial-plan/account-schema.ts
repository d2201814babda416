import { httpsUrl } from "../lib/https-url.ts";
import * as z from "../lib/zod.ts";
import { typeNames } from "../providers/routes.ts";

/** Names of the kinds of provider, for people. */
export const typesText = typeNames.join(", ");

/** Settings of an account at a provider. */
export const accountSchema = z
  .strictObject({
    type: z
      .optional(
        z
          .string()
          .check(z.refine((type) => typeNames.includes(type), `must be one of ${typesText}`)),
      )
      .check(z.describe("the provider; absent: the account's name")),
    baseUrl: z
      .optional(
        httpsUrl.check(
          z.refine((url) => !/[?#]/.test(url), "must not have a query or a fragment"),
          z.overwrite((url) => url.replace(/\/+$/, "")),
        ),
      )
      .check(z.describe("base URL of the provider's API, such as a region's")),
    // After 90 s the dialer's function still has time to record the outcome.
    timeoutSeconds: z
      .optional(z.int().check(z.minimum(1), z.maximum(90)))
      .check(z.describe("time for the provider's answer; absent: 30; LiveKit 45")),
    concurrency: z
      .optional(z.int().check(z.minimum(1), z.maximum(100)))
      .check(
        z.describe(
          "requests in flight of one delivery, never above the platform's; absent: 5 on Cloudflare, 25 on AWS",
        ),
      ),
    callsPerSecond: z
      .optional(z.number().check(z.minimum(0.02), z.maximum(1000)))
      .check(z.describe("the account's pace; absent: 1; Amazon Connect 2; a webhook none")),
    burst: z
      ._default(z.int().check(z.minimum(1), z.maximum(1000)), 1)
      .check(z.describe("calls at once after a pause; needs `callsPerSecond`")),
    callsPerDay: z
      .optional(z.int().check(z.minimum(1), z.maximum(1_000_000)))
      .check(z.describe("calls in one day (UTC)")),
    liveCalls: z
      .optional(z.int().check(z.minimum(1), z.maximum(500)))
      .check(z.describe("calls that ring or are in progress at once; needs `results`")),
    maxCallMinutes: z
      .optional(z.int().check(z.minimum(1), z.maximum(240)))
      .check(z.describe("maximum duration of a call, sent to providers that take one")),
    meanCallSeconds: z
      ._default(z.int().check(z.minimum(1), z.maximum(14_400)), 120)
      .check(z.describe("duration that forecasts assume until calls have ended")),
    pollsPerSecond: z
      ._default(z.number().check(z.minimum(0.1), z.maximum(100)), 2)
      .check(z.describe("rate of requests for results")),
  })
  .check(
    z.refine(({ burst, callsPerSecond }) => burst === 1 || callsPerSecond !== undefined, {
      path: ["burst"],
      error: "needs callsPerSecond beside it",
    }),
  );
