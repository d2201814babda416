import { describe, expect, it } from "vitest";
import { type Directed, runDirected } from "./directed.ts";

/** Describes schedules by name. The others, which take minutes, run by `npm run simulate -- --schedules`. */
export function describeSchedules(all: Record<string, () => Iterable<Directed>>): void {
  describe("every promise is kept", () => {
    it.each(Object.entries(all))("where %s", async (_, schedules) => {
      const { runs, broken } = await runDirected(schedules());
      expect(broken ?? []).toEqual([]);
      expect(runs).toBeGreaterThanOrEqual(5);
    });
  });
}
