import { expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import { laterParts } from "#functions/api/parts.ts";
import { createTestApi } from "#test/support/api.ts";
import { tokens } from "#test/support/environment.ts";

it("answers 500 with the id that its log has where a part cannot be loaded, and loads it anew", async () => {
  const { deps, events } = createTestApi();
  let loads = 0;
  const operator = async () => {
    loads += 1;
    if (loads === 1) throw new Error("EMFILE: too many open files");
    return laterParts.operator();
  };
  const app = createApp({ ...deps, parts: { ...laterParts, operator } });
  const ask = () =>
    app.request("/operator/audit", { headers: { authorization: `Bearer ${tokens.operator}` } });
  const failed = await ask();
  expect(failed.status).toBe(500);
  const request_id = failed.headers.get("x-request-id");
  expect(request_id).toMatch(/^[0-9A-Z]{26}$/);
  expect(events).toMatchObject([{ level: "alarm", event: "api.failed", request_id }]);
  expect((await ask()).status).toBe(200);
});
