import type { Parts } from "./http/context.ts";
import { createMadeTokens } from "./http/made-tokens.ts";
import { createOperator } from "../operator/operator.ts";
import { createRequests } from "./requests/routes.ts";

/** The parts of the API, for platforms with a single bundle. */
export const bundledParts: Parts = {
  operator: async () => createOperator,
  requests: async () => createRequests,
  madeTokens: async () => createMadeTokens,
};
