import { createExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import { Webhook } from "standardwebhooks";
import { createClient, verifyEvent } from "#infra/client/index.ts";
import { tokens } from "../support/environment.ts";
import { testEnv } from "./env.ts";
import worker from "./worker.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };

it("the client library runs in a Worker: a lost answer calls nobody twice", async () => {
  let tries = 0;
  const client = createClient({
    baseUrl: "https://calls.example.com",
    token: tokens.crm,
    retry: { delayMs: 1 },
    fetch: async (request) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the runtime fills in `cf`
      const typed = request as Request<unknown, IncomingRequestCfProperties>;
      const answer = await worker.fetch(typed, testEnv, createExecutionContext());
      if (++tries === 1) throw new Error("The connection was lost.");
      return answer;
    },
  });
  const placed = await client.placeCalls([call, call]);
  expect([tries, placed.replayed, placed.callIds.length]).toEqual([2, true, 2]);
});

it("the client library verifies events in a Worker", () => {
  const secret = `whsec_${btoa("0123456789abcdef01234567")}`;
  const body = JSON.stringify({ type: "call.placed", data: { id: "call_x" } });
  const at = new Date();
  const headers = new Headers({
    "webhook-id": "call_x.1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("call_x.1", at, body),
  });
  expect(verifyEvent(headers, body, secret)).toMatchObject({ id: "call_x.1", type: "call.placed" });
});
