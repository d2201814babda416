import { describe, expect, it } from "vitest";
import type { Call } from "../../../shared/calls/call.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import type { ValueOf } from "../../../shared/documents/kinds.ts";
import { callUpNext } from "../../../functions/dialer/waiting/call-up-next.ts";
import { accountOf, routeOf } from "../../../shared/dial-plan/routes.ts";
import { createDialerBench } from "../../support/dialer.ts";
import {
  aCallNow,
  allIn,
  type Bench,
  boom,
  callsNow,
  documentOf,
  idsDialed,
  idsHinted,
  loseHints,
  putDocument,
  putIn,
  putWaiting,
  rowOf,
  sendEach,
  stateOf,
  statesOf,
} from "../../support/dialer-calls.ts";

const minute = 60_000;
const idsOf = (calls: readonly { id: string }[]) => calls.map(({ id }) => id);
describe("a backlog", () => {
  it("shares its account round robin with those of other clients and agents", async () => {
    const bench = createDialerBench({ plan: { providers: { webhook: { callsPerSecond: 1 } } } });
    const backlogs: Call[][] = [];
    for (const [client, count] of [
      ["large", 3000],
      ["middle", 40],
      ["small", 5],
    ] as const) {
      backlogs.push(await putWaiting(bench, count, 0, { client }));
    }
    await bench.simulate(120);
    const clients = bench.dialed.map(({ call }) => call.client);
    expect(clients.length).toBeGreaterThan(100);
    const counts = (first: number) =>
      ["large", "middle", "small"].map(
        (client) => clients.slice(0, first).filter((one) => one === client).length,
      );
    // Rows are taken one of each backlog in turn, as long as each has some.
    expect(counts(15)).toEqual([5, 5, 5]);
    expect(counts(65)).toEqual([30, 30, 5]);
    expect(counts(85)).toEqual([40, 40, 5]);
  });

  it("comes next after the backlog that was served last", async () => {
    const providers = { webhook: { callsPerSecond: 0.02 } };
    const bench = createDialerBench({ plan: { providers } });
    for (const client of ["a", "b", "c", "d", "e"]) await putWaiting(bench, 20, 0, { client });
    await bench.simulate(500);
    const clients = bench.dialed.map(({ call }) => call.client);
    expect(clients.length).toBeGreaterThanOrEqual(9);
    expect(clients.slice(0, 5)).toEqual(["a", "b", "c", "d", "e"]);
    expect(clients.slice(5, 10)).toEqual(["a", "b", "c", "d", "e"].slice(0, clients.length - 5));
  });

  it("whose account is in trouble keeps those of other accounts waiting no longer", async () => {
    const agents = {
      agent_sales: { provider: "bad", url: "http://127.0.0.1:9/dial" },
      agent_support: { provider: "good", url: "http://127.0.0.2:9/dial" },
    };
    const paced = { type: "webhook", callsPerSecond: 1 };
    const bench = createDialerBench({ plan: { agents, providers: { bad: paced, good: paced } } });
    await putWaiting(bench, 3, 0);
    const others = callsNow(bench, 3, { agent_id: "agent_support" });
    for (const call of others) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
    bench.breakDocuments({
      takePermits: (document, ...rest) =>
        document.key.includes("127.0.0.1")
          ? boom()
          : bench.documents.takePermits(document, ...rest),
    });
    await bench.sweep();
    expect(new Set(idsHinted(bench))).toEqual(new Set(idsOf(others)));
    expect(bench.eventsOf("sweep.failed")).toMatchObject([{ level: "alarm" }]);
    expect(bench.eventsOf("sweep.full")).toEqual([]);
  });

  it("without a pace has at most 5,000 rows called up, and twice as many once most have gone", async () => {
    const bench = createDialerBench();
    await putWaiting(bench, 17_000, 0);
    const queue = loseHints(bench);
    const calledUp = async () => {
      queue.lost.length = 0;
      await bench.sweep();
      return queue.lost.length;
    };
    expect(await calledUp()).toBe(5000);
    const first = [...queue.lost];
    bench.advance(20_000);
    expect(await calledUp()).toBe(0); // all still wait
    for (const id of first) bench.stored.delete(id);
    expect(await calledUp()).toBe(5000);
    for (const id of queue.lost) bench.stored.delete(id);
    expect(await calledUp()).toBe(7000);
  }, 30_000);

  it("loses its document once it is empty and unused for two hours, and gets a new one when needed", async () => {
    const bench = createDialerBench();
    const [call] = await putWaiting(bench, 1, 0);
    const key = backlogOf({ client: "crm", agentId: "agent_sales" });
    await bench.simulate(100);
    expect(call && (await stateOf(bench, call))).toBe("PLACED");
    expect(await documentOf(bench, "backlog", key)).toBeDefined();
    await bench.simulate(3.1 * 3600);
    expect(await documentOf(bench, "backlog", key)).toBeUndefined();
    const again = aCallNow(bench);
    bench.answer = async () => ({ kind: "not_placed", code: "http_429", retryAfterSeconds: 3600 });
    await sendEach(bench, again);
    await bench.deliver();
    expect(await documentOf(bench, "backlog", key)).toBeDefined();
    bench.answer = async () => ({ kind: "placed" });
    await bench.simulate(3700);
    expect(await stateOf(bench, again)).toBe("PLACED");
  });

  it("with rows due in hours keeps its document, and is visited when they are due", async () => {
    const bench = createDialerBench();
    const [call] = await putWaiting(bench, 1, 20 * 3600_000);
    await bench.simulate(19 * 3600);
    expect(bench.dialed).toEqual([]);
    await bench.simulate(3600 + 10);
    expect(idsDialed(bench)).toEqual([call?.id]);
  });
});

describe("the marks of a backlog", () => {
  const key = backlogOf({ client: "crm", agentId: "agent_sales" });
  /** Writes a mark at the n-th row of a backlog; `until` in milliseconds from now. */
  async function mark(
    bench: Bench,
    calls: readonly Call[],
    marks: readonly { row: number; untilMs: number }[],
  ) {
    const made = async ({ row, untilMs }: { row: number; untilMs: number }) => {
      const { id, dueAt } = await rowOf(bench, calls[row] ?? { id: "" });
      const until = bench.now() + untilMs;
      const at = bench.now() - minute;
      return { id, dueAt: dueAt ?? 0, until, at, since: at, left: 0, former: [] };
    };
    const standing = (await documentOf(bench, "backlog", key))?.value;
    const value: ValueOf<"backlog"> = {
      client: "crm",
      agentId: "agent_sales",
      nextDueAt: bench.now(),
      visitedAt: bench.now(),
      ...standing,
      usedAt: bench.now() - 50 * minute, // too old to be a reason for a visit
      marks: await Promise.all(marks.map(made)),
    };
    await putDocument(bench, { kind: "backlog", key }, { ...value, nextDueAt: bench.now() });
  }

  it("that lie beyond rows not yet called up forget none of them", async () => {
    const providers = { webhook: { callsPerSecond: 0.05 } };
    const bench = createDialerBench({ plan: { providers } });
    const calls = callsNow(bench, 20);
    for (const [n, call] of calls.entries()) {
      await putIn(bench, "WAITING", call, { dueAt: bench.now() - minute + n });
    }
    await mark(bench, calls, [
      { row: 12, untilMs: -45_000 },
      { row: 19, untilMs: 15_000 },
    ]);
    await bench.simulate(20 * 20 + 130);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
    expect(bench.dialed).toHaveLength(20);
    expect(bench.sent()).toBeLessThanOrEqual(22); // no row is called up repeatedly
  });

  it("are checked until their time is over, though no rows follow them", async () => {
    const providers = { webhook: { callsPerSecond: 1 } };
    const bench = createDialerBench({ plan: { providers } });
    const calls = await putWaiting(bench, 3, 0);
    const queue = loseHints(bench);
    await bench.sweep();
    expect(queue.lost).toHaveLength(3);
    queue.mend();
    const standing = (await documentOf(bench, "backlog", key))?.value;
    if (standing === undefined) throw new Error("it stands");
    const usedAt = bench.now() - 50 * minute;
    await putDocument(bench, { kind: "backlog", key }, { ...standing, usedAt });
    await bench.simulate(150);
    expect(await statesOf(bench, calls)).toEqual(allIn(calls, "PLACED"));
  });

  it("that have moved on do not hide a row written after they had passed it", async () => {
    const bench = createDialerBench({ plan: { providers: { webhook: { callsPerSecond: 1 } } } });
    const calls = await putWaiting(bench, 20, 0);
    await mark(bench, calls, [{ row: 19, untilMs: 30_000 }]);
    const standing = (await documentOf(bench, "backlog", key))?.value;
    const place = async (index: number) => {
      const { id, dueAt } = await rowOf(bench, calls[index] ?? { id: "" });
      return { id, dueAt: dueAt ?? 0 };
    };
    const now = bench.now();
    const former = [{ ...(await place(9)), at: now - 10_000 }];
    const marks = standing?.marks.map((one) => ({ ...one, at: now - 1000, former })) ?? [];
    if (standing === undefined) throw new Error("it stands");
    await putDocument(bench, { kind: "backlog", key }, { ...standing, marks });
    const route = routeOf("agent_sales", bench.deps.settings.plan);
    const pace = route && accountOf(route, bench.deps.settings.plan).pace;
    if (route === undefined || pace === undefined) throw new Error("it has a pace");
    // Both were written 5 s ago: the read of 10 s ago passed the first one before it stood, that of 1 s ago saw the other.
    const written = [await place(5), await place(15)].map((row) => ({
      ...row,
      backlog: key,
      writtenAt: now - 5000,
    }));
    await callUpNext(route, pace, written, bench.deps);
    expect(idsHinted(bench)).toEqual([calls[5]?.id]);
  });

  it("do not count if set before their account was resumed, or its breaker closed", async () => {
    const bench = createDialerBench({ plan: { providers: { webhook: { callsPerSecond: 1 } } } });
    const calls = await putWaiting(bench, 5, 0);
    const queue = loseHints(bench);
    await bench.sweep();
    queue.mend();
    const account = { kind: "account", key: "webhook:http://127.0.0.1:9" } as const;
    const standing = (await documentOf(bench, account.kind, account.key))?.value;
    if (standing === undefined) throw new Error("it stands");
    bench.advance(1000);
    await putDocument(bench, account, { ...standing, restartedAt: bench.now() });
    await bench.sweep();
    expect(new Set(idsHinted(bench))).toEqual(new Set(idsOf(calls)));
  });
});
