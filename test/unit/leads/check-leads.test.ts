import { expect, it } from "vitest";
import type { SentPartView } from "#shared/answers/answers.ts";
import { checkLeads, findUnsent } from "#shared/leads/check-leads.ts";
import { divideLeads, toIndexSet } from "#shared/leads/divide-leads.ts";
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

it("leaves out what the request of a part left out, whatever the service says of its leads now", async () => {
  const numbers = ["0", "1", "2", "3"].map((digit) => `+1202555010${digit}`);
  const leads = numbers.map((number, index) => lead(index + 2, number));
  const divided = await divideLeads(readWhole(leads), { callsMax: 2, bytesMax: 1_000 });
  const leftOut = leads.slice(1).map((one) => ({ lead: one, reason: "is refused now" }));
  const part: SentPartView = {
    index: 0,
    calls: 2,
    idempotency_key: "",
    state: "planned",
    begun_at: null,
    is_lost: false,
    left_out: "",
    request_id: null,
  };
  const left_out = toIndexSet(new Set([0]));
  const linesOf = (first: Partial<SentPartView>, lost?: "accepted" | "not_accepted") => {
    const sent = { campaign: "c", round: 1, at: "", is_finished: false };
    const parts = [
      { ...part, ...first },
      { ...part, index: 1 },
    ];
    const found = findUnsent({ ...divided, leftOut }, { sent: { ...sent, parts }, lost });
    return found.map((one) => `${one.lead.line} ${one.reason}`);
  };
  const others = ["4 is refused now", "5 is refused now"];
  const before = ["2 was left out before", ...others];
  const now = ["3 is refused now", ...others];
  expect(linesOf({})).toEqual(now);
  expect(linesOf({ state: "begun", left_out })).toEqual(before);
  expect(linesOf({ state: "sent", left_out })).toEqual(before);
  expect(linesOf({ state: "begun", is_lost: true, left_out })).toEqual(before);
  expect(linesOf({ state: "begun", is_lost: true, left_out }, "accepted")).toEqual(before);
  expect(linesOf({ state: "begun", is_lost: true, left_out }, "not_accepted")).toEqual(now);
  expect(linesOf({ calls: 3 })).toEqual(others);
  expect(findUnsent({ ...divided, leftOut }, { sent: null })).toEqual(leftOut);
});
