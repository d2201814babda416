import * as z from "zod";
import type { ProviderType } from "./dialing-provider.ts";

const routeSchema = z.strictObject({
  provider: z.literal("simulator"),
  callingHours: z.string().optional(),
});

/**
 * Dials nobody: prints what would be dialed, the number masked to its last two digits and without context.
 * For `npm start`; a plan that names it is refused unless ALLOW_SIMULATOR=true.
 */
export const simulator: ProviderType<z.infer<typeof routeSchema>> = {
  name: "simulator",
  routeSchema,
  accountOf: () => "simulator",
  secretsOf: () => [],
  create: ({ print }) => ({
    async dial({ id, request }) {
      const { phone_number, agent_id } = request;
      const masked = "•".repeat(phone_number.length - 3) + phone_number.slice(-2);
      print(`simulator: would dial +${masked} for agent ${agent_id} (${id})`);
      return { kind: "placed", providerCallId: `simulated_${id}` };
    },
  }),
};
