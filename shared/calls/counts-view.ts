import * as z from "../lib/zod.ts";
import { resultStatuses } from "./call-result.ts";
import { callStates } from "./states.ts";

/** Counts of a request's calls, as answers and events show them. Loose like all of /v1, as fields may be added. */
export const countsViewSchema = z.looseObject({
  by_state: z.partialRecord(z.enum(callStates), z.int()),
  by_result: z
    .partialRecord(z.enum(resultStatuses), z.int())
    .check(z.describe("Of the placed calls whose result is known")),
});
