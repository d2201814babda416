import { callBecomes, returns } from "./edits.ts";
import { toMutants } from "./mutant.ts";

/** Mutants of splits: a callee that changes its arm, or a call of which another arm's orders are read. */
export const splitMutants = toMutants(
  [
    "test/unit/dialer/splits.test.ts",
    "test/unit/dial-plan/splits.test.ts",
    "test/unit/ports/memory-tries.test.ts",
  ],
  [
    ["a pause of a split holds its arms", "pausesOfSplits", returns("[]")],
    [
      "a dead letter has its arm chosen",
      "settleDeadLetter.calls",
      callBecomes("chooseArms", "message"),
    ],
  ],
);
