import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z.strictObject({
    ...routeFields,
    type: z.literal("livekit"),
    /** The project's own URL. */
    baseUrl: z.pipe(z.string("is required: set the account's baseUrl in providers"), httpsUrl),
    /** Name under which the agent is registered. */
    agent: z.string().check(z.minLength(1), z.maxLength(200)),
    /** Id of the outbound SIP trunk. */
    trunk: z.string().check(z.minLength(1), z.maxLength(200)),
  }),
);

export type LiveKitRoute = z.infer<typeof routeSchema>;

/** Routes of LiveKit, as a dial plan has them. */
export const livekitRoutes: ProviderType<LiveKitRoute> = {
  name: "livekit",
  routeSchema,
  callsPerSecond: 1,
  callbackHeaders: ["authorization"],
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY", "API_SECRET"],
};
