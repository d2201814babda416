import { toRowsRead } from "#shared/ports/unreadable.ts";
import { describe, expect, it } from "vitest";
import type { CallRow } from "#shared/calls/call-row.ts";
import type { Settlement } from "#shared/calls/transitions.ts";
import { sendOutcome, settleOutcome, settleSurely } from "#functions/dialer/record/settle.ts";
import type { DialerDeps } from "#functions/dialer/runtime/context.ts";
import { aRowIn } from "#test/support/call-rows.ts";
import { createDialerBench } from "#test/support/dialer.ts";

const row = aRowIn("DIALING", { claims: ["last"], version: "last" });
const settlement: Settlement = {
  id: row.id,
  claim: "last",
  state: "REJECTED",
  reason: "r",
  at: 1_000_000,
};

/** Creates dependencies whose ledger reads these rows, and lists of what was sent and of the alarms. */
function createDeps({ rows = [], unreadable = [] }: { rows?: CallRow[]; unreadable?: string[] }) {
  const { deps } = createDialerBench();
  const sent: unknown[] = [];
  const alarms: string[] = [];
  const own: DialerDeps = {
    ...deps,
    clock: { ...deps.clock, sleep: async () => undefined },
    log: (level, name) => void (level === "alarm" && alarms.push(name)),
    ledger: {
      ...deps.ledger,
      read: async () => toRowsRead(rows, unreadable),
    },
    queue: { ...deps.queue, send: async (message) => void sent.push(message) },
  };
  return { own, sent, alarms };
}

describe("a settlement whose write meets a conflict", () => {
  const write = async () => false;

  it("is refused where the row is gone", async () => {
    const { own, sent } = createDeps({});
    expect(await settleSurely(settlement, { row, write }, own)).toBe("refused");
    expect(sent).toEqual([]);
  });

  it("goes onto the queue where only a later version can read the row", async () => {
    const { own, sent } = createDeps({ unreadable: [row.id] });
    expect(await settleSurely(settlement, { row, write }, own)).toBe("written");
    expect(sent).toEqual([{ kind: "outcome", settlement }]);
  });
});

describe("a settlement", () => {
  it("goes onto the queue with alarms where the ledger takes no write", async () => {
    const { own, sent, alarms } = createDeps({ rows: [row] });
    const write = () => Promise.reject(new Error("down"));
    expect(await settleSurely(settlement, { row, write }, own)).toBe("written");
    expect(sent).toEqual([{ kind: "outcome", settlement }]);
    expect(alarms).toEqual(Array.from({ length: 3 }, () => "ledger.unreachable"));
  });

  it("is lost with an alarm where the queue does not take it either", async () => {
    const { own, alarms } = createDeps({});
    const queue = { ...own.queue, send: () => Promise.reject(new Error("down")) };
    expect(await sendOutcome(settlement, 0, { ...own, queue })).toBe("lost");
    expect(alarms).toEqual(["queue.unreachable"]);
  });

  it("from the queue of a row that is gone is done", async () => {
    const { own } = createDeps({});
    await expect(settleOutcome(settlement, own)).resolves.toBeUndefined();
  });
});
