import { describe, expect, it } from "vitest";
import { createDueRows } from "#functions/dialer/dispatch/due-rows.ts";
import { createInFlight } from "#functions/dialer/dispatch/in-flight.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { documentOf, putDocument, putWaiting } from "#test/support/dialer-calls.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

const key = backlogOf({ client: "crm", agentId: "agent_sales" });

/** Reads the head of a backlog without rows, which was used some time ago. */
async function createHeads(usedSecondsAgo: number) {
  const bench = createDialerBench({ startAt: "2026-06-01T10:00Z" });
  const now = bench.now();
  const value = { client: "crm", agentId: "agent_sales", usedAt: now - usedSecondsAgo * 1000 };
  let backlog: StoredDocument<"backlog"> = {
    kind: "backlog",
    key,
    version: "one",
    value: { ...value, mode: "live", answers: null },
    expiresAt: null,
  };
  const due = createDueRows(
    { inFlight: createInFlight(), documentOf: () => backlog },
    { ledger: bench.rows, clock: bench },
  );
  await due.read(new Map(), [key], now);
  return {
    isUnknown: () => due.isUnknown(backlog, now),
    mayBeDue: () => due.mayBeDue(backlog, now),
    write: () => (backlog = { ...backlog, version: "two" }),
  };
}

describe("the head of an empty backlog", () => {
  it("is read again for half a minute after the backlog was used: its row may be on its way", async () => {
    expect((await createHeads(29)).isUnknown()).toBe(true);
    expect((await createHeads(31)).isUnknown()).toBe(false);
  });

  it("is read again once its document has changed", async () => {
    const heads = await createHeads(3600);
    expect([heads.isUnknown(), heads.mayBeDue()]).toEqual([false, false]);
    heads.write();
    expect([heads.isUnknown(), heads.mayBeDue()]).toEqual([true, true]);
  });
});

it("reads no row of a paused backlog", async () => {
  const bench = createDialerBench({ startAt: "2026-06-01T10:00Z" });
  const agent = { agent: "agent_sales" };
  const order = { of: agent, at: bench.now(), by: "ada" };
  await putDocument(bench, pauseKeyOf(agent), order);
  await putWaiting(bench, 3, 0);
  expect(await documentOf(bench, "backlog", key)).toBeDefined();
  const asked: string[] = [];
  bench.breakLedger({
    due: (query) => {
      asked.push(...query.lanes.map((one) => one.key));
      return bench.rows.due(query);
    },
  });
  await bench.dispatch();
  expect(asked).not.toContain(key);
});
