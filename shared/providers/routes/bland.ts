import { isE164 } from "../../numbering/phone-number.ts";
import * as z from "../../platform/zod.ts";
import { httpsUrl } from "../https-url.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() =>
  z
    .strictObject({
      ...routeFields,
      type: z.literal("bland"),
      baseUrl: z.optional(httpsUrl),
      /** Id of the pathway that the agent follows. */
      pathway: z.optional(z.string().check(z.minLength(1), z.maxLength(200))),
      /** Instructions for the agent, instead of a pathway. `{{first_name}}` stands for a value of the context. */
      task: z.optional(z.string().check(z.minLength(1), z.maxLength(20_000))),
      /** The calling number. Without it, Bland calls from one of its own. */
      from: z.optional(z.string().check(z.refine(isE164, "must be an E.164 number"))),
    })
    .check(
      z.refine(({ pathway, task }) => (pathway === undefined) !== (task === undefined), {
        error: "must have either pathway or task",
      }),
    ),
);

export type BlandRoute = z.infer<typeof routeSchema>;

/** Routes of Bland, as a dial plan has them. */
export const blandRoutes: ProviderType<BlandRoute> = {
  name: "bland",
  routeSchema,
  callsPerSecond: 1,
  accountOf: ({ provider }) => provider,
  secretsOf: () => ["API_KEY"],
};
