import { describe, expect, it } from "vitest";
import { createApp } from "#functions/api/app.ts";
import type { FoundCaller } from "#functions/api/http/context.ts";
import { UncheckedTokenError } from "#functions/api/http/port-limits.ts";
import type { Caller } from "#shared/settings/tokens.ts";
import { createTestApi } from "#test/support/api.ts";
import { requestIdPattern } from "#test/contracts/http-api/setup.ts";

const caller: Caller = {
  tokenId: "made",
  client: "crm",
  mode: "live",
  agents: ["*"],
  rights: ["call", "read"],
};

function apiFor(found: FoundCaller) {
  const { deps, queue, events } = createTestApi();
  const app = createApp({ ...deps, callerOf: () => found });
  const send = (path: string, body?: object) =>
    app.request(path, {
      headers: { authorization: "Bearer oc_later", "content-type": "application/json" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
  const place = () => send("/v1/calls", { phone_number: "+12025550123", agent_id: "agent_sales" });
  return { send, place, queue, events };
}

describe("callers that the ledger is asked for", () => {
  it("accepts their calls once they are known", async () => {
    const { place, queue } = apiFor(Promise.resolve(caller));
    expect((await place()).status).toBe(201);
    expect(queue.take()).toHaveLength(1);
  });

  it.each([undefined, { ...caller, rights: ["read"] as const }])(
    "answers 401 to a token that is not valid, or may not place calls",
    async (found) => {
      const { place, queue } = apiFor(Promise.resolve(found));
      expect((await place()).status).toBe(401);
      expect(queue.take()).toEqual([]);
    },
  );

  it("answers 503, never 401, to a token that cannot be checked", async () => {
    const found = Promise.reject(new UncheckedTokenError("the ledger does not answer"));
    const { send, place, queue, events } = apiFor(found);
    for (const answer of [await place(), await send("/v1/requests/01JZZZZZZZZZZZZZZZZZZZZZZZ")]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("5");
      expect(answer.headers.get("x-request-id")).toMatch(requestIdPattern);
      expect(await answer.json()).toMatchObject({ detail: expect.stringContaining("token") });
    }
    expect(queue.take()).toEqual([]);
    expect(events.map((one) => Object(one).event)).toEqual(["token.unchecked", "token.unchecked"]);
  });
});
