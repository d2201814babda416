import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z.strictObject({
    ...routeFields,
    type: z.literal("vapi"),
    baseUrl: z.optional(httpsUrl),
    /** Id of the assistant. */
    agent: z.string().check(z.minLength(1), z.maxLength(200)),
    /** Id of the calling phone number. */
    from: z.string().check(z.minLength(1), z.maxLength(200)),
  }),
);

export type VapiRoute = z.infer<typeof routeSchema>;

/** Routes of Vapi, as a dial plan has them. */
export const vapiRoutes: ProviderType<VapiRoute> = {
  name: "vapi",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
};
