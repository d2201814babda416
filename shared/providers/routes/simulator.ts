import * as z from "../../platform/zod.ts";
import { type ProviderType, routeFields } from "./provider-type.ts";

const routeSchema = z.lazy(() => z.strictObject({ ...routeFields, type: z.literal("simulator") }));

export type SimulatorRoute = z.infer<typeof routeSchema>;

/** Routes of the simulator, as a dial plan has them. */
export const simulatorRoutes: ProviderType<SimulatorRoute> = {
  name: "simulator",
  routeSchema,
  accountOf: ({ provider }) => provider,
  secretsOf: () => [],
};
