import * as z from "zod";
import { isE164 } from "../../numbering/phone-number.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.strictObject({
  ...routeFields,
  type: z.literal("telnyx"),
  baseUrl: httpsUrl.optional(),
  /** Id of the Call Control application. */
  connection: z.string().min(1).max(200),
  /** The calling number. */
  from: z.string().refine(isE164, "must be an E.164 number"),
  /** Id of an AI assistant that takes the call. Without it, your own application does. */
  agent: z.string().min(1).max(200).optional(),
  /** Detection of answering machines, in Telnyx's words. Telnyx tells the result by its webhooks. */
  machineDetection: z
    .enum(["premium", "detect", "detect_beep", "detect_words", "greeting_end"])
    .optional(),
  /** Longest time for which the phone rings. */
  ringSeconds: z.int().min(5).max(600).optional(),
  /** True to have a call's end told here, instead of to the connection's own webhook. */
  callbacks: z.boolean().optional(),
});

export type TelnyxRoute = z.infer<typeof routeSchema>;

/** Routes of Telnyx, as a dial plan has them. */
export const telnyxRoutes: ProviderType<TelnyxRoute> = {
  name: "telnyx",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
};
