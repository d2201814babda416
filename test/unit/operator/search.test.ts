import { expect, it } from "vitest";
import type { Searched } from "#shared/answers/answers.ts";
import { createTestApi } from "#test/support/api.ts";
import { dayPlan, fillWithADay } from "#test/support/believable-day.ts";
import { apiEnvironment, tokens } from "#test/support/environment.ts";
import { jsonRequest } from "#test/support/json-request.ts";

const environment = { ...apiEnvironment, DIAL_PLAN: JSON.stringify(dayPlan) };

it("suggests what begins with a text, in any case, where nothing is of that name", async () => {
  const now = Date.UTC(2026, 10, 21, 12, 34);
  const { app, ledger, documents } = createTestApi({ environment, now: () => now });
  await fillWithADay(ledger, documents, now);
  const { rows } = await ledger.list({ client: "research", limit: 1 });
  const request = rows[0]?.id.slice(5, 31) ?? "";
  const suggested = async (text: string) => {
    const posted = jsonRequest(tokens.operator, "POST", { text });
    const answer: Searched = JSON.parse(
      await (await app.request("/operator/search", posted)).text(),
    );
    expect(answer.found).toEqual([]);
    return answer.suggested.map(({ kind, id }) => `${kind} ${id}`);
  };
  expect(await suggested("AGENT_S")).toEqual(["agent agent_sales", "agent agent_survey"]);
  expect(await suggested("Rese")).toEqual(["client research"]);
  expect(await suggested("november")).toEqual(["campaign November offers"]);
  expect(await suggested(request.slice(0, 20).toLowerCase())).toEqual([`request ${request}`]);
  expect(await suggested(`call_${request.slice(0, 20)}`)).toEqual([`request ${request}`]);
  // None is suggested where so few characters begin the ids of weeks.
  expect(await suggested(request.slice(0, 6))).toEqual([`request ${request}`]);
  expect(await suggested(request.slice(0, 5))).toEqual([]);
});
