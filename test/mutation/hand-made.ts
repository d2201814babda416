import { callBackMutants } from "./hand-made-call-backs.ts";
import { dialingMutants } from "./hand-made-dialing.ts";
import { flowMutants } from "./hand-made-flow.ts";
import { ruleMutants } from "./hand-made-rules.ts";
import { splitMutants } from "./hand-made-splits.ts";
import { unreadableMutants } from "./hand-made-unreadable.ts";
import type { HandMade } from "./mutant.ts";

/**
 * Rules by which somebody could be phoned twice, at night, against an order or never. What is not here:
 *
 * - A judge of shared/rules that does nothing, or takes an unreadable document for an absent one: gates.test.ts,
 *   lists.test.ts and unreadable.test.ts of test/unit/rules ask each entry of each list.
 * - A list of gates.ts without one of its entries: gate-mutants.ts.
 * - A place that takes what only a later version can read for absent: readable-mutants.ts.
 * - Another time in shared/lib/timing.ts, such as a claim's time to settle or a margin between clocks:
 *   test/unit/lib/timing.test.ts has the inequalities. The times of shared/rules/cancellation.ts: its test has both sides
 *   of each.
 * - A fact of a state: test/unit/calls/states.test.ts says which calls may have rung, and
 *   test/unit/dialer/state-machine.test.ts which settlements each state accepts, and that a placed call is erased.
 * - What Stryker's operators make of the files in .config/stryker.json.
 */
export const handMade: readonly HandMade[] = [
  ...dialingMutants,
  ...ruleMutants,
  ...flowMutants,
  ...splitMutants,
  ...callBackMutants,
  ...unreadableMutants,
];
