import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z.strictObject({
    ...routeFields,
    type: z.literal("elevenlabs"),
    baseUrl: z.optional(httpsUrl),
    /** Id of the agent. */
    agent: z.string().check(z.minLength(1), z.maxLength(200)),
    /** Id of the calling phone number. */
    from: z.string().check(z.minLength(1), z.maxLength(200)),
    /** Connection of that number. */
    through: z.enum(["twilio", "sip-trunk"]),
  }),
);

export type ElevenLabsRoute = z.infer<typeof routeSchema>;

/** Routes of ElevenLabs, as a dial plan has them. */
export const elevenlabsRoutes: ProviderType<ElevenLabsRoute> = {
  name: "elevenlabs",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
  contextProblem: ({ context = {} }) =>
    Object.keys(context).some((key) => key.startsWith("system__"))
      ? "must not have a key that begins with system__, which ElevenLabs keeps for itself"
      : undefined,
};
