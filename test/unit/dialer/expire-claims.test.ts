import type { CallRow } from "#shared/calls/call-row.ts";
import { toRowsRead } from "#shared/ports/unreadable.ts";
import { expect, it } from "vitest";
import { expireClaims } from "#functions/dialer/sweep/expire-claims.ts";
import { createDialerBench } from "#test/support/dialer.ts";

/** Returns dependencies whose ledger lists so many calls under way, all of which have time. */
function createDeps(calls: number, dueInMs = 60_000) {
  const { deps } = createDialerBench();
  const dueAt = deps.clock.now() + dueInMs;
  const listed = Array.from({ length: calls }, (_, index) => ({
    id: `call_${index}`,
    dueAt,
    client: "crm",
    agentId: "agent_sales",
    account: "a",
  }));
  return { ...deps, ledger: { ...deps.ledger, dialing: async () => listed } };
}

it.each([
  [0, true],
  [4999, true],
  [5000, false],
])("with %i calls under way says that it has checked all: %j", async (calls, isAll) => {
  expect(await expireClaims(createDeps(calls))).toBe(isAll);
});

it("raises an alarm for a lapsed claim of a row that only a later version can read", async () => {
  const deps = createDeps(1, -1);
  const alarms: unknown[] = [];
  const read = async () => toRowsRead<CallRow>([], ["call_0"]);
  await expireClaims({
    ...deps,
    ledger: { ...deps.ledger, read },
    log: (level, name, fields) => void alarms.push([level, name, fields]),
  });
  expect(alarms).toEqual([["alarm", "row.unreadable", { call_id: "call_0" }]]);
});
