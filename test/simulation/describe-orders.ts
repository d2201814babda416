import { describe, expect, it } from "vitest";
import type { Exploration } from "./explorations.ts";
import { explore } from "./interleavings.ts";

/** Describes that every promise is kept in any order of the steps of two dialers and a sweep. */
export function describeOrders(all: readonly Exploration[]): void {
  describe("every promise is kept", () => {
    it.each(all)(
      "in any order of two dialers and a sweep: $agent, killed $kills times, $faults faults",
      async (exploration) => {
        const { situations, broken } = await explore(exploration);
        expect([...(broken?.violations ?? []), ...(broken?.trace ?? [])]).toEqual([]);
        expect(situations).toBeGreaterThan(100);
      },
    );
  });
}
