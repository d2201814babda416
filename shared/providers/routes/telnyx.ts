import { isE164 } from "../../numbering/phone-number.ts";
import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z.strictObject({
    ...routeFields,
    type: z.literal("telnyx"),
    baseUrl: z.optional(httpsUrl),
    /** Id of the Call Control application. */
    connection: z.string().check(z.minLength(1), z.maxLength(200)),
    /** The calling number. */
    from: z.string().check(z.refine(isE164, "must be an E.164 number")),
    /** Id of an AI assistant that takes the call. Without it, your own application does. */
    agent: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
    /** Detection of answering machines, in Telnyx's words. Telnyx tells the result by its webhooks. */
    machineDetection: z.optional(
      z.enum(["premium", "detect", "detect_beep", "detect_words", "greeting_end"]),
    ),
    /** Longest time for which the phone rings. */
    ringSeconds: z.optional(z.int().check(z.minimum(5), z.maximum(600))),
    /** True to have a call's end told here, instead of to the connection's own webhook. */
    callbacks: z.optional(z.boolean()),
  }),
);

export type TelnyxRoute = z.infer<typeof routeSchema>;

/** Routes of Telnyx, as a dial plan has them. */
export const telnyxRoutes: ProviderType<TelnyxRoute> = {
  name: "telnyx",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
};
