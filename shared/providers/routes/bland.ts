import * as z from "zod";
import { isE164 } from "../../numbering/phone-number.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z
  .strictObject({
    ...routeFields,
    type: z.literal("bland"),
    baseUrl: httpsUrl.optional(),
    /** Id of the pathway that the agent follows. */
    pathway: z.string().min(1).max(200).optional(),
    /** Instructions for the agent, instead of a pathway. `{{first_name}}` stands for a value of the context. */
    task: z.string().min(1).max(20_000).optional(),
    /** The calling number. Without it, Bland calls from one of its own. */
    from: z.string().refine(isE164, "must be an E.164 number").optional(),
  })
  .refine(({ pathway, task }) => (pathway === undefined) !== (task === undefined), {
    error: "must have either pathway or task",
  });

export type BlandRoute = z.infer<typeof routeSchema>;

/** Routes of Bland, as a dial plan has them. */
export const blandRoutes: ProviderType<BlandRoute> = {
  name: "bland",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
};
