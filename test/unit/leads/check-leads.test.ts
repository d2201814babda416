import { expect, it } from "vitest";
import { checkLeads } from "#shared/leads/check-leads.ts";
import { divideLeads } from "#shared/leads/divide-leads.ts";
import { readWhole } from "#test/support/lead-file.ts";

const lead = (line: number, phone_number: string) => ({
  line,
  original: phone_number,
  call: { phone_number, agent_id: "agent_sales" },
});

it("a forecast of leads names the lines of the file, whatever order they are sent in and who is left out", async () => {
  const { parts } = await divideLeads(
    readWhole([
      lead(2, "+19995550101"),
      lead(3, "+12025550123"),
      lead(7, "+13035550101"),
      lead(9, "+12025550124"),
    ]),
  );
  const posted: string[][] = [];
  const { forecasts, leftOut } = await checkLeads(
    { parts, client: "crm" },
    () => undefined,
    async (path, body) => {
      if (path === "/forecast") {
        const { calls }: { calls: { phone_number: string }[] } = Object(body);
        posted.push(calls.map(({ phone_number }) => phone_number));
      }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields that are read
      return { listed: [0], items: [] } as never;
    },
  );
  expect(leftOut.map((one) => one.lead.line)).toEqual([3]);
  expect(posted).toEqual([["+12025550124", "+13035550101", "+19995550101"]]);
  expect(forecasts.map(({ lines }) => lines)).toEqual([[9, 7, 2]]);
});
