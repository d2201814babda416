import { describe, expect, it } from "vitest";
import type { Call } from "#shared/calls/call-request.ts";
import { routeKinds } from "#shared/providers/routes.ts";
import { describeProvider } from "#test/contracts/provider.ts";
import {
  blandAnswers,
  blandAnyNumberLookUps,
  blandLookUps,
} from "#test/support/provider-answers/bland.ts";
import { blandResults } from "#test/support/provider-results/bland.ts";

const headers = { authorization: "org_1", "content-type": "application/json" };
const secrets = { BLAND_API_KEY: "org_1" };
const pathway = "a0f0d4ed-f5f5-4f16-b3f9-22166594d7a7";

/** Facts that the suites of both kinds of routes share. */
const bland = (own: object, body: object) => ({
  type: "bland",
  fields: own,
  secrets,
  requests: ({ id, request }: Call) => [
    {
      path: "/v1/calls",
      headers,
      body: {
        phone_number: request.phone_number,
        request_data: request.context,
        metadata: { call_id: id, attempt: "1" },
        ...body,
      },
    },
  ],
  fixtures: blandAnswers,
});

const from = "+12025550100";
describeProvider({
  ...bland({ pathway, from }, { pathway_id: pathway, from }),
  lookUps: blandLookUps,
  results: blandResults,
});

const asks = { task: "Ask {{first_name}} about the appointment." };
describeProvider({
  ...bland(asks, asks),
  title: "bland with a task, from a number of its own",
  lookUps: blandAnyNumberLookUps,
});

describe("bland", () => {
  it.each([[{}], [{ pathway, task: "Ask." }], [{ pathway, from: "2025550100" }]])(
    "is refused the route fields %j",
    (fields) => {
      expect(
        routeKinds.parseRoute({ account: "bland", ...fields }, { provider: "bland" }),
      ).toHaveProperty("issues");
    },
  );
});
