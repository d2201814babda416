import { expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import { contradicted } from "#shared/calls/ended.ts";
import { type CallState, callStates } from "#shared/calls/states.ts";
import type { Log } from "#shared/lib/log.ts";
import { toRowsRead } from "#shared/ports/unreadable.ts";
import { take } from "#shared/rules/earlier-tries.ts";
import { aRowIn, idsOf, suiteNow } from "#test/support/call-rows.ts";
import { createMemoryLedger } from "#test/support/memory-ledger.ts";

const times = { human: null, word: null, answeredAt: null, endedAt: null, seconds: null };
const ended = { ...times, status: "busy" } as const;
const next = { id: "next", dueAt: suiteNow };

/** Asks the rule about a redial of calls, of which a later version alone can read some. */
async function judge(
  ancestors: readonly CallRow[],
  later: readonly string[] = [],
  log: Log = () => undefined,
) {
  const row = aRowIn("DIALING", { ancestors: [...idsOf(ancestors), ...later] });
  const ledger = { ...createMemoryLedger(), read: async () => toRowsRead(ancestors, later) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a claimed call, the rule reads the row alone
  const taking = take({ row } as Parameters<typeof take>[0], { ledger, log });
  expect(taking.verdict()).toBeUndefined();
  const settled = await taking.settled;
  expect(taking.verdict()).toEqual(settled);
  await taking.give();
  const verdict = taking.verdict();
  return verdict === undefined
    ? "dialed"
    : `${verdict.kind === "end" && verdict.state} ${verdict.reason}`;
}

it("a call that replaces none is dialed, and reads nothing", async () => {
  const ledger = { ...createMemoryLedger(), read: () => Promise.reject(new Error("not asked")) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a claimed call, the rule reads the row alone
  const claim = { row: aRowIn("DIALING") } as Parameters<typeof take>[0];
  expect(await take(claim, { ledger, log: () => undefined }).settled).toBeUndefined();
});

it("a redial is dialed unless the call that it replaces was placed, or may be under way", async () => {
  const verdicts = await Promise.all(callStates.map((state) => judge([aRowIn(state)])));
  const refused = new Map<CallState, string>([
    ["DIALING", "NEEDS_REVIEW ancestor_unknown"],
    ["UNKNOWN", "NEEDS_REVIEW ancestor_unknown"],
    ["PLACED", "CANCELLED placed_before"],
  ]);
  expect(verdicts).toEqual(callStates.map((state) => refused.get(state) ?? "dialed"));
});

it("one placed call among those that it replaces ends it, though others are unknown", async () => {
  expect(await judge([aRowIn("UNKNOWN"), aRowIn("PLACED")], ["later"])).toBe(
    "CANCELLED placed_before",
  );
  expect(await judge([aRowIn("REJECTED"), aRowIn("UNKNOWN")])).toBe(
    "NEEDS_REVIEW ancestor_unknown",
  );
});

it("an alarm names the redial of a call that was placed", async () => {
  const alarms: string[] = [];
  const log: Log = (level, event) => alarms.push(`${level} ${event}`);
  await judge([aRowIn("PLACED")], [], log);
  await judge([aRowIn("UNKNOWN")], [], log);
  expect(alarms).toEqual(["alarm call.placed_before"]);
});

it("a call that only a later version can read may be under way", async () => {
  expect(await judge([], ["later"])).toBe("NEEDS_REVIEW ancestor_unknown");
  expect(await judge([aRowIn("REJECTED")], ["later"])).toBe("NEEDS_REVIEW ancestor_unknown");
});

it("a try is dialed after a placed call that has ended so that a try follows", async () => {
  expect(await judge([aRowIn("PLACED", { next, result: ended })])).toBe("dialed");
  expect(await judge([aRowIn("PLACED", { result: ended })])).toBe("CANCELLED placed_before");
  expect(await judge([aRowIn("PLACED", { next, result: null })])).toBe("CANCELLED placed_before");
  const doubted = { at: suiteNow, state: "PLACED", reason: contradicted } as const;
  expect(await judge([aRowIn("PLACED", { next, result: ended, history: [doubted] })])).toBe(
    "CANCELLED placed_before",
  );
});
