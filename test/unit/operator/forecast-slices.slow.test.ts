import { expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

it("a forecast of ten thousand calls lets other requests pass all the while", async () => {
  const { deps, documents } = createTestApi({});
  const turn = { keys: 0, keysMax: 0 };
  const app = createApp({
    ...deps,
    documents: {
      ...documents,
      async read(keys) {
        turn.keys += keys.length;
        turn.keysMax = Math.max(turn.keysMax, turn.keys);
        return documents.read(keys);
      },
    },
  });
  const calls = Array.from({ length: 10_000 }, (_, n) => ({
    phone_number: `+1202${2_000_000 + n}`,
    agent_id: "agent_sales",
  }));
  const state = { isDone: false };
  const ask = async () => {
    const request = jsonRequest(tokens.operator, "POST", { client: "crm", calls });
    const { status } = await app.request("/operator/forecast", request);
    state.isDone = true;
    return status;
  };
  const forecast = ask();
  let passed = 0;
  while (!state.isDone) {
    expect((await app.request("/healthz")).status).toBe(200);
    passed += 1;
    turn.keys = 0;
    await new Promise(setImmediate);
  }
  expect(await forecast).toBe(200);
  // Each slice of 250 calls is read, hashed, judged and dialed, and its zones are counted.
  expect(passed).toBeGreaterThan((5 * 10_000) / 250 - 10);
  // The documents of at most 500 numbers are asked for before others pass.
  expect(turn.keysMax).toBeLessThanOrEqual(500 * 3);
});
