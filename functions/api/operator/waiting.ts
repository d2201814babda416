import * as z from "../../../shared/lib/zod.ts";
import { declareRoute } from "../http/route.ts";
import { listFinishedIndexes, countReasons } from "./request-progress.ts";
import { readWaitingPositions } from "./waiting-positions.ts";

/** Maximum waiting calls that are found, and maximum calls whose reasons are read. */
const foundMax = 500;
const readMax = 100;

const waitingSchema = z.strictObject({
  found: z.int().check(z.describe(`Calls that wait, up to ${foundMax} of a backlog`)),
  read: z
    .int()
    .check(
      z.describe(`Calls whose reasons are counted: up to ${readMax}, evenly among those found`),
    ),
  reasons: z
    .array(z.strictObject({ reason: z.string(), count: z.int() }))
    .check(z.describe("Of the calls that were read, the most frequent first, at most 20")),
});
export type WaitingByReason = z.infer<typeof waitingSchema>;

const countWaiting = declareRoute({
  operationId: "countWaiting",
  summary: "Why calls wait",
  method: "get",
  path: "/waiting",
  answer: waitingSchema,
  async handle({ deps: { ledger, documents } }) {
    const positions = await readWaitingPositions(ledger, documents, foundMax);
    const ids = listFinishedIndexes(positions.length, readMax).flatMap(
      (index) => positions[index]?.id ?? [],
    );
    const { rows } = await ledger.read(ids);
    // A call may have left WAITING since it was found.
    const waiting = [...rows.values()].filter(({ state }) => state === "WAITING");
    return { found: positions.length, read: waiting.length, reasons: countReasons(waiting) };
  },
});

export const waitingRoutes = [countWaiting];
