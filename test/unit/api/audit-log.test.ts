import { describe, expect, it } from "vitest";
import { createTestApi } from "#test/support/api.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const call = { phone_number: "+12025550123", agent_id: "agent_sales" };
const timeAt = (minutes: string) => `2026-06-01T10:${minutes}:00.000Z`;

/** Creates the API at a time that the test sets. `operator`: id of the operator's token. */
function createBench(operator = "operator") {
  let now = Date.parse(timeAt("00"));
  const { OPERATOR_TOKENS } = apiEnvironment;
  const named = OPERATOR_TOKENS.replace('"operator"', JSON.stringify(operator));
  const environment = { ...apiEnvironment, OPERATOR_TOKENS: named };
  const { app } = createTestApi({ environment, now: () => now });
  const list = async (query: string) => {
    const path = `/operator/audit?${query}`;
    const answer = await app.request(path, jsonRequest(tokens.operator, "GET"));
    expect(answer.status).toBe(200);
    const body: { entries: { at: string; action: string }[]; cursor?: string } =
      await answer.json();
    return body;
  };
  return {
    list,
    at: (minutes: string) => {
      now = Date.parse(timeAt(minutes));
    },
    post: (path: string, body: object, token: string) =>
      app.request(path, jsonRequest(token, "POST", body)),
  };
}

describe("the audit log", () => {
  it.each(["operator", "anna.m+calls@example.com", "ops ~ Zoë"])(
    "is read on from each of its entries, also from a campaign that the operator %j sent",
    async (operator) => {
      const { at, list, post } = createBench(operator);
      for (const minutes of ["01", "02", "03"]) {
        at(minutes);
        const { status } = await post("/operator/clients/crm/calls", [call], tokens.operator);
        expect(status).toBe(201);
      }
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const place: string = cursor === undefined ? "" : `&cursor=${cursor}`; // as the page sends it
        const page = await list(`limit=1${place}`);
        found.push(...page.entries.map((one) => one.at));
        ({ cursor } = page);
      } while (cursor !== undefined);
      expect(found).toEqual(["03", "02", "01"].map(timeAt));
    },
  );

  it("has what clients did since a time within an hour, whatever stood before it", async () => {
    const { at, list, post } = createBench();
    const { headers } = await post("/v1/calls", call, tokens.crm);
    at("10");
    await post("/v1/do-not-call", { phone_numbers: ["+12025550199"] }, tokens.crmOptOut);
    at("45");
    const path = `/v1/requests/${headers.get("x-request-id")}/cancel`;
    await post(path, {}, tokens.crmDesk);
    const since = async (minutes: string) =>
      (await list(`of=clients&from=${timeAt(minutes)}`)).entries.map((one) => one.at).toSorted();
    expect(await since("30")).toEqual([timeAt("45")]);
    expect(await since("05")).toEqual(["10", "45"].map(timeAt));
    expect(await since("46")).toEqual([]);
    at("50");
    await post(path, {}, tokens.crmDesk);
    expect(await since("46")).toEqual([timeAt("45")]); // twice, last at 10:50
  });
});
