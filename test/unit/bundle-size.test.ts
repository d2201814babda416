import { expect, it } from "vitest";
import { adapterGrowthBytes, workerBytes } from "../bench/bundle-size.ts";

it("grows by at most 27 kB gzip with all dialing providers together, to at most 127 kB with results and events", async () => {
  const bytes = await adapterGrowthBytes();
  const growth = bytes.with - bytes.without;
  expect(growth).toBeLessThanOrEqual(27_000);
  expect(growth).toBeGreaterThan(2_000); // the adapters were in one bundle and not in the other
  expect(bytes.with).toBeLessThanOrEqual(127_000);
});

it("of the API's Worker is at most 106 kB gzip, without documents and what dials", async () => {
  const bytes = await workerBytes("functions/api/cloudflare.ts");
  expect(bytes).toBeLessThanOrEqual(106_000);
  expect(bytes).toBeGreaterThan(50_000);
});
