import { describe, expect, it } from "vitest";
import { describeProvider, sought } from "#test/contracts/provider.ts";
import { contextProblemOf, routeOf, startTestAdapter } from "#test/support/test-adapter.ts";
import { aCall } from "#test/support/calls.ts";
import { exotelAnswers, exotelLookUps } from "#test/support/provider-answers/exotel.ts";
import { exotelResults } from "#test/support/provider-results/exotel.ts";

const secrets = {
  EXOTEL_ACCOUNT_SID: "acme1",
  EXOTEL_API_KEY: "key_1",
  EXOTEL_API_TOKEN: "token_8",
};
const fields = { from: "08047091234", flow: "926" };
const headers = {
  authorization: `Basic ${Buffer.from("key_1:token_8").toString("base64")}`,
  "content-type": "application/x-www-form-urlencoded",
};
const read = (text: string): unknown => Object.fromEntries(new URLSearchParams(text));

describeProvider({
  type: "exotel",
  fields: { ...fields, ringSeconds: 30 },
  secrets,
  read,
  requests: ({ id, request }) => [
    {
      path: "/v1/Accounts/acme1/Calls/connect.json",
      headers,
      body: {
        From: request.phone_number,
        CallerId: "08047091234",
        Url: "http://my.exotel.com/acme1/exoml/start_voice/926",
        CallType: "trans",
        CustomField: id,
        TimeOut: "30",
      },
    },
  ],
  fixtures: exotelAnswers,
  lookUps: exotelLookUps,
  results: exotelResults,
});

describe("exotel", () => {
  /** Looks a call to a number up in a list that has this row, by India's clock. */
  async function lookUp(phone_number: string, row: object, more: object = {}) {
    const listed = { Sid: "sid-1", DateCreated: "2026-11-21 05:30:02", Direction: "outbound-api" };
    const { provider, route, received } = await startTestAdapter(
      "exotel",
      fields,
      secrets,
      (_request, response, { length }) => {
        const Calls = length === 1 ? [{ ...listed, ...row }] : [];
        response.end(JSON.stringify({ Calls, ...more }));
      },
    );
    const call = aCall({ request: { ...aCall().request, phone_number } });
    return { found: provider.lookUp?.({ call, attempt: 1, ...sought }, route), received };
  }

  it.each([
    ["+919876543210", "09876543210", true],
    ["+919876543210", "9876543210", true],
    ["+919876543210", "+919876543210", true],
    ["+919876543210", "09876543211", false],
    ["+6598765432", "98765432", true],
    ["+919876543210", "3210", false],
    ["+919876543210", "", false],
  ])("knows of a call to %s whether %s is its number: %s", async (number, From, isSame) => {
    const { found } = await lookUp(number, { From });
    expect(await found).toEqual({ by: "number", providerCallIds: isSame ? ["sid-1"] : [] });
  });

  it("finds the next page also where the list's own fields name it", async () => {
    const { found, received } = await lookUp(
      "+919876543210",
      { From: "09876543210" },
      { NextPageUri: "/v1/Accounts/acme1/Calls.json?After=c2" },
    );
    await expect(found).rejects.toThrow("too long");
    expect(received).toHaveLength(10);
    expect(received[1]?.path).toMatch(/&After=c2$/);
  });

  it("carries no context", () => {
    const problemOf = (context: Record<string, string>) =>
      contextProblemOf(context, routeOf("exotel", fields));
    expect(problemOf({})).toBeUndefined();
    expect(problemOf({ name: "Ada" })).toMatch(/^must be empty: Exotel's flow/);
  });

  it.each([
    [{ flow: "926" }, /./],
    [{ ...fields, flow: "sales" }, /^must be the id of a flow$/],
    [{ ...fields, from: "my phone" }, /^must be a number of digits$/],
    [{ ...fields, ringSeconds: 0 }, /^must be at least /],
  ])("refuses the route %j", (more, problem) => {
    expect(() => routeOf("exotel", more)).toThrow(problem);
  });
});
