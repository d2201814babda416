import { isE164 } from "../../numbering/phone-number.ts";
import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z
    .strictObject({
      ...routeFields,
      type: z.literal("ultravox"),
      baseUrl: z.optional(httpsUrl),
      /** Id of the agent. */
      agent: z.string().check(z.minLength(1), z.maxLength(200)),
      /** Carrier that is configured in the Ultravox account, or a SIP trunk. */
      through: z.enum(["twilio", "telnyx", "plivo", "sip"]),
      /** The calling number, of that carrier. */
      from: z.string().check(z.refine(isE164, "must be an E.164 number")),
      /** Host of the SIP trunk, with `through: "sip"`. */
      sipHost: z.optional(
        z
          .string()
          .check(z.regex(/^[\w.-]+(:\d{1,5})?$/, "must be a host such as example.pstn.twilio.com")),
      ),
      /** User name at the SIP trunk, if it asks for one. Its password is the secret `SIP_PASSWORD`. */
      sipUser: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
    })
    .check(
      z.refine(({ through, sipHost }) => (through === "sip") === (sipHost !== undefined), {
        path: ["sipHost"],
        error: 'must stand beside "through": "sip", and there alone',
      }),
      z.refine(({ through, sipUser }) => through === "sip" || sipUser === undefined, {
        path: ["sipUser"],
        error: 'must stand beside "through": "sip" alone',
      }),
    ),
);

export type UltravoxRoute = z.infer<typeof routeSchema>;

/** Routes of Ultravox, as a dial plan has them. */
export const ultravoxRoutes: ProviderType<UltravoxRoute> = {
  name: "ultravox",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: ({ sipUser }) => (sipUser === undefined ? ["API_KEY"] : ["API_KEY", "SIP_PASSWORD"]),
};
