import * as fc from "fast-check";
import { expect, it } from "vitest";
import { clientInPath, clientOfPath } from "#shared/calls/client-path.ts";
import { createPostForClient } from "#shared/leads/ask-client-api.ts";
import { createToken } from "#shared/settings/tokens.ts";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

it("names every client by one part of a path, which a URL leaves as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (drawn) => {
      const client = drawn.toWellFormed();
      const part = clientInPath(client);
      const { pathname } = new URL(`http://127.0.0.1/clients/${part}/calls`);
      expect(pathname).toBe(`/clients/${part}/calls`);
      expect(pathname).not.toContain("%");
      expect(clientOfPath(part)).toBe(client);
    }),
  );
  expect(clientInPath("test:crm")).toBe("test:crm");
});

it("places the calls of a client whose name no path can spell", async () => {
  const client = "Zürich & Söhne/2 %";
  const { sha256 } = createToken();
  const API_TOKENS = JSON.stringify([{ id: "zurich", client, sha256 }]);
  const api = createTestApi({ environment: { ...apiEnvironment, API_TOKENS } });
  const listed = await api.app.request("/operator/senders", jsonRequest(tokens.operator));
  expect(await listed.json()).toEqual({ clients: [{ client, is_test: false, agents: ["*"] }] });
  const post = createPostForClient(
    { origin: "http://127.0.0.1", token: tokens.operator, client },
    async (url, init) => api.app.request(url, init),
  );
  const calls = [{ phone_number: "+12025550123", agent_id: "agent_sales" }];
  const key = { "idempotency-key": "spring-1" };
  expect((await post("/calls", JSON.stringify(calls), key)).status).toBe(201);
  const [message] = api.queue.take();
  expect(await message?.open()).toContain(JSON.stringify(client));
});
