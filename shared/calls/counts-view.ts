import * as z from "../lib/zod.ts";
import { resultStatuses } from "./call-result.ts";
import { callStates } from "./states.ts";

/** Numbers of a request's calls, as answers and events show them. Loose like all of /v1: further fields may come. */
export const countsViewSchema = z.looseObject({
  by_state: z.partialRecord(z.enum(callStates), z.int()),
  by_result: z
    .partialRecord(z.enum(resultStatuses), z.int())
    .check(z.describe("Of the placed calls whose result is known")),
});
