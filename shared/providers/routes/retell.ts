import { isE164 } from "../../numbering/phone-number.ts";
import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z.strictObject({
    ...routeFields,
    type: z.literal("retell"),
    baseUrl: z.optional(httpsUrl),
    /** Id of the agent. Without it, the agent bound to the calling number answers. */
    agent: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
    /** The calling number, E.164, bought from or imported into Retell. */
    from: z.string().check(z.refine(isE164, "must be an E.164 number")),
    /** True to have a call's events told here, instead of to the webhook of the agent and the account. */
    callbacks: z.optional(z.boolean()),
  }),
);

export type RetellRoute = z.infer<typeof routeSchema>;

/** Routes of Retell, as a dial plan has them. */
export const retellRoutes: ProviderType<RetellRoute> = {
  name: "retell",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
};
