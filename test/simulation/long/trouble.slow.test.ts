import { expect, it } from "vitest";
import { simulateTrouble } from "../trouble.ts";

// Further seeds: `npm run simulate -- --trouble 200`.
it("nobody's trouble stops anybody else, nor do dying sweeps and clocks that differ", async () => {
  expect(await simulateTrouble(1)).toEqual([]);
});
