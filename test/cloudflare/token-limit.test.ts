import { expect, it } from "vitest";
import { createTokenLimit } from "#shared/cloudflare/token-limit.ts";
import { testEnv } from "./env.ts";

it("the platform's limit counts the requests of each token by itself", async () => {
  const limit = createTokenLimit(testEnv.TEST_LIMIT);
  const asked = async (tokenId: string) => limit?.(tokenId);
  const first = [];
  for (let n = 0; n < 5; n++) first.push(await asked("crm-1"));
  expect(first).toEqual([true, true, true, false, false]);
  expect(await asked("crm-2")).toBe(true);
  expect(createTokenLimit(undefined)).toBeUndefined();
});
