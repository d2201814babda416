import { describe, expect, it } from "vitest";
import { createDueRows } from "#functions/dialer/dispatch/due-rows.ts";
import { createInFlight } from "#functions/dialer/dispatch/in-flight.ts";
import { backlogOf } from "#shared/calls/call-row.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import type { CallLedger, DialingCall } from "#shared/ports/ledger.ts";
import { hourMs } from "#shared/lib/units.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { documentOf, putDocument, putWaiting } from "#test/support/dialer-calls.ts";
import { pauseKeyOf } from "#shared/rules/pause.ts";

const key = backlogOf({ client: "crm", agentId: "agent_sales" });

/** Returns the document of a backlog. */
const documentIn = (name: string, usedAt: number): StoredDocument<"backlog"> => ({
  kind: "backlog",
  key: name,
  version: "one",
  value: { client: "crm", agentId: "agent_sales", usedAt, mode: "live", answers: null },
  expiresAt: null,
});

/** Reads the head of a backlog without rows, which was used some time ago. */
async function createHeads(usedSecondsAgo: number) {
  const bench = createDialerBench({ startAt: "2026-06-01T10:00Z" });
  const now = bench.now();
  let backlog = documentIn(key, now - usedSecondsAgo * 1000);
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

describe("the due rows of backlogs", () => {
  const now = Date.UTC(2026, 5, 1, 10);
  const names = ["one", "two"];
  const row = (id: string, dueAt = now) => ({ id, dueAt });

  /** Reads backlogs, each with its rows. */
  function createRows(rows: Record<string, ReturnType<typeof row>[]>, dialing: DialingCall[] = []) {
    const inFlight = createInFlight();
    const asked: [keys: string[], each: number][] = [];
    const ledger = {
      async due({ lanes, each }: Parameters<CallLedger["due"]>[0]) {
        asked.push([lanes.map(({ key: lane }) => lane), each]);
        return lanes.map(({ key: lane }) => (rows[lane] ?? []).slice(0, each));
      },
      dialing: async () => dialing,
    };
    const documents = new Map(names.map((name) => [name, documentIn(name, now - hourMs)]));
    const due = createDueRows(
      { inFlight, documentOf: (name) => documents.get(name) },
      { ledger, clock: { now: () => now } },
    );
    const send = (backlog: string, ...ids: string[]) => {
      for (const id of ids) inFlight.send({ ...row(id), account: "a", backlog, at: now });
    };
    const read = async (needs: Record<string, number>, unknown: string[] = []) => {
      const found = await due.read(new Map(Object.entries(needs)), unknown, now);
      return [...found].map(([name, ofIt]) => [name, ...ofIt.map(({ id }) => id)]);
    };
    const unread = () => names.filter((name) => due.isUnknown(documentIn(name, now - hourMs), now));
    const mayBeDue = () =>
      names.filter((name) => due.mayBeDue(documentIn(name, now - hourMs), now));
    return { due, inFlight, documents, send, read, unread, mayBeDue, asked };
  }

  it("are those whose time has come and that were not dispatched, as many as are needed", async () => {
    const { read, send } = createRows({
      one: [row("sent"), row("a"), row("b"), row("c")],
      two: [row("d"), row("later", now + 1)],
    });
    send("one", "sent");
    expect(await read({ one: 2, two: 2 })).toEqual([
      ["one", "a", "b"],
      ["two", "d"],
    ]);
  });

  it("are not read again where enough of them, or all, were read before", async () => {
    const { read, asked } = createRows({
      one: ["a", "b", "c", "d"].map((id) => row(id)),
      two: [row("e")],
    });
    await read({ one: 2, two: 2 });
    expect(asked).toEqual([[["one", "two"], 3]]);
    expect(await read({ one: 3, two: 9 })).toEqual([
      ["one", "a", "b", "c"],
      ["two", "e"],
    ]);
    expect(asked).toHaveLength(1);
    expect(await read({ one: 4 })).toEqual([["one", "a", "b", "c", "d"]]);
    expect(asked.slice(1)).toEqual([[["one"], 5]]);
  });

  it("are read behind the dispatched ones", async () => {
    const { read, send, asked } = createRows({ one: ["a", "b", "c"].map((id) => row(id)) });
    send("one", "a", "b");
    expect(await read({ one: 1 })).toEqual([["one", "c"]]);
    expect(asked).toEqual([[["one"], 4]]);
  });

  it("show which backlogs have none, once their head was read", async () => {
    const { read, due, unread, mayBeDue, documents } = createRows({ one: [row("a")] });
    expect([unread(), mayBeDue()]).toEqual([names, names]);
    await read({}, names);
    expect([unread(), mayBeDue()]).toEqual([[], ["one"]]);
    due.forget(["one"]);
    expect(unread()).toEqual(["one"]);
    await read({}, ["one"]);
    documents.delete("two");
    due.forgetGone();
    expect(unread()).toEqual(["two"]);
  });

  it("of a backlog without a document are not remembered", async () => {
    const { read, unread, documents } = createRows({ one: [row("a")] });
    documents.delete("one");
    await read({}, names);
    expect(unread()).toEqual(["one"]);
  });

  it("are unknown where all that were read are dispatched and more follow", async () => {
    const { read, send, due, unread, mayBeDue } = createRows({
      one: ["a", "b", "c"].map((id) => row(id)),
      two: [row("d")],
    });
    await read({ one: 1, two: 1 });
    expect([unread(), mayBeDue()]).toEqual([[], names]);
    send("one", "a", "b");
    send("two", "d");
    due.seeAgain();
    expect([unread(), mayBeDue()]).toEqual([["one"], ["one"]]);
  });

  it("show what has left of the dispatched ones, with the calls under way", async () => {
    const call = { ...row("x"), account: "a", client: "crm", agentId: "agent_sales" };
    const { due, inFlight, send, asked } = createRows({ one: [row("b")] }, [call]);
    send("one", "a", "b");
    await due.readInFlight();
    expect(asked).toEqual([[["one"], 10]]);
    expect(["a", "b"].filter((id) => inFlight.isSent(id))).toEqual(["b"]);
    expect(inFlight.countOf("a")).toBe(2);
  });

  it("are read no further while the first row of each backlog is dispatched and waits", async () => {
    const rows = { one: [row("a"), row("c")], two: [row("b")] };
    const { due, inFlight, send, asked } = createRows(rows);
    send("one", "a");
    send("two", "b");
    expect(await due.readInFlightOf(names)).toBe(false);
    expect(asked).toEqual([[names, 2]]);
    // Another holder has taken the row of the second.
    rows.two = [];
    expect(await due.readInFlightOf(names)).toBe(true);
    expect(asked.slice(1)).toEqual([
      [names, 2],
      [["two"], 8],
    ]);
    expect(["a", "b"].filter((id) => inFlight.isSent(id))).toEqual(["a"]);
  });
});
