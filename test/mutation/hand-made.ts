import { dialingMutants } from "./hand-made-dialing.ts";
import { flowMutants } from "./hand-made-flow.ts";
import { ruleMutants } from "./hand-made-rules.ts";
import { splitMutants } from "./hand-made-splits.ts";
import { unreadableMutants } from "./hand-made-unreadable.ts";
import type { HandMade } from "./mutant.ts";

/** At most a hundred, of rules by which somebody could be phoned twice, at night or never. */
export const handMade: readonly HandMade[] = [
  ...dialingMutants,
  ...ruleMutants,
  ...flowMutants,
  ...splitMutants,
  ...unreadableMutants,
];
