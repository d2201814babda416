import * as z from "zod";
import { type ProviderType, routeFields } from "./dialing-provider.ts";

const routeSchema = z.strictObject({ ...routeFields, type: z.literal("simulator") });

/**
 * Dials nobody: prints each call, its number masked to the last two digits, without context. Serves `npm
 * start`; a plan that names it is refused unless ALLOW_SIMULATOR=true.
 */
export const simulator: ProviderType<z.infer<typeof routeSchema>> = {
  name: "simulator",
  routeSchema,
  accountOf: ({ provider }) => provider,
  secretsOf: () => [],
  create: ({ print }) => ({
    async dial({ call: { id, request } }) {
      const { phone_number, agent_id } = request;
      const masked = "•".repeat(phone_number.length - 3) + phone_number.slice(-2);
      print(`simulator: would dial +${masked} for agent ${agent_id} (${id})`);
      return { kind: "placed", providerCallId: `simulated_${id}` };
    },
  }),
};
