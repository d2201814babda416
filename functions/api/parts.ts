import type { Parts } from "./http/context.ts";

const operations = () => import("./operations.ts");

/** The parts of the API that few requests need, in a module that a process evaluates with the first of those. */
export const laterParts: Parts = {
  operator: async () => (await operations()).createOperator,
  requests: async () => (await operations()).createRequests,
};
