import { expect, it } from "vitest";
import {
  boom,
  callsNow,
  documentOf,
  due,
  ownAccount,
  putIn,
  rowOf,
} from "#test/support/dialer-calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";

it("gives back what lands after another take has failed", async () => {
  const bench = createDialerBench({
    plan: { providers: { webhook: { callsPerDay: 5 } }, maxCalls: { count: 1, days: 1 } },
    startAt: "2026-06-01T12:00Z",
  });
  const [call] = callsNow(bench, 1);
  if (call === undefined) throw new Error("a call was asked for");
  await putIn(bench, "WAITING", call, { dueAt: bench.now() });
  const { read, add } = bench.documents;
  let isCounted = false;
  bench.breakDocuments({
    read: (keys) => (keys.some(({ kind }) => kind === "cap") && !isCounted ? boom() : read(keys)),
    async add(key, counters, expiresAt) {
      if (key.kind === "day-counts" && !isCounted) {
        await bench.sleep(1_000);
        isCounted = true;
      }
      return add(key, counters, expiresAt);
    },
  });
  await bench.send(due(call));
  expect(await bench.deliver()).toEqual(["ack"]);
  expect(bench.dialed).toEqual([]);
  expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "not_checked" });
  expect(isCounted).toBe(true);
  const day = JSON.stringify(["account", ownAccount, "2026-06-01"]);
  expect((await documentOf(bench, "day-counts", day))?.value).toMatchObject({ calls: 0 });
});

it("has a call wait whose request cannot be made", async () => {
  const bench = createDialerBench();
  const [call] = callsNow(bench, 1);
  if (call === undefined) throw new Error("a call was asked for");
  await putIn(bench, "WAITING", call, { dueAt: bench.now() });
  bench.deps.settings.providerOf = () => {
    throw new Error("no such provider");
  };
  await bench.send(due(call));
  expect(await bench.deliver()).toEqual(["ack"]);
  expect(bench.dialed).toEqual([]);
  expect(await rowOf(bench, call)).toMatchObject({ state: "WAITING", reason: "not_checked" });
});
