import { expect, it } from "vitest";
import { simulateTrouble } from "../trouble.ts";

// Further seeds: `npm run simulate -- --trouble 200`.
it.each(Array.from({ length: 2 }, (_, index) => index + 1))(
  "nobody's trouble stops anybody else, nor do dying sweeps and clocks that differ (seed %i)",
  async (seed) => {
    expect(await simulateTrouble(seed)).toEqual([]);
  },
);
