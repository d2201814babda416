import { expect, it } from "vitest";
import { adapterGrowthBytes } from "../bench/bundle-size.ts";

it("grows by at most 15 kB gzip with all dialing providers together", async () => {
  const bytes = await adapterGrowthBytes();
  const growth = bytes.with - bytes.without;
  expect(growth).toBeLessThanOrEqual(15_000);
  expect(growth).toBeGreaterThan(2_000); // the adapters were in one bundle and not in the other
});
