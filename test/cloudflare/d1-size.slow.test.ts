import { expect, it } from "vitest";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { createD1Size } from "#shared/cloudflare/d1-size.ts";
import { rowsOfOneRequest } from "../support/call-rows.ts";
import { testEnv } from "./env.ts";

const { LEDGER } = testEnv;

it("D1 reports its size, which grows with its rows", async () => {
  const size = createD1Size(LEDGER);
  const before = await size();
  expect(before.bytes).toBeGreaterThan(0);
  expect(before.bytesMax).toBe(10_000_000_000);
  const rows = rowsOfOneRequest(1000);
  await createD1Ledger(LEDGER).write(rows.map((next) => ({ next, seen: null })));
  expect((await size()).bytes).toBeGreaterThan(before.bytes + 300_000);
});
