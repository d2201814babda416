import type { Survivor } from "./survivors.ts";

/** A mutant that may survive, as it breaks no rule. */
export interface Accepted extends Survivor {
  because: string;
}

export const acceptedSurvivors: readonly Accepted[] = [];
