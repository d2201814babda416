import { describe, expect, it } from "vitest";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  documentOf,
  inUtc,
  message,
  ownAccount,
  putDocument,
} from "#test/support/dialer-calls.ts";

const createBench = (more: Parameters<typeof createDialerBench>[0] = {}) =>
  createDialerBench({ startAt: "2026-06-01T10:00Z", ...more });

describe("a writer of a row that is due", () => {
  it.each([
    ["nobody has ever run", undefined, 1],
    ["none runs", { holder: null, ageMs: 0 }, 1],
    ["one has not beaten for ten seconds", { holder: "dead", ageMs: 10_000 }, 1],
    ["one beats", { holder: "alive", ageMs: 9_999 }, 0],
  ])("wakes a dispatcher where %s", async (_, state, count) => {
    const bench = createBench({ isNew: true });
    if (state !== undefined) {
      const beatAt = bench.now() - state.ageMs;
      const value = { holder: state.holder, since: beatAt, beatAt, accounts: {} };
      await putDocument(bench, { kind: "dispatcher", key: "dispatcher" }, value);
    }
    let woken = 0;
    bench.deps.wakeDispatcher = async () => void (woken += 1);
    await bench.send(message(aCallNow(bench)));
    await bench.deliver();
    expect(woken).toBe(count);
  });

  it.each([
    ["an older plan", "other", -1, 1],
    ["a newer plan", "other", 1, 0],
    ["the same plan", undefined, -1, 0],
  ])(
    "wakes as many dispatchers as are due where one beats with %s",
    async (_, other, ms, count) => {
      const bench = createBench({ isNew: true });
      const [{ hash, readAt }, now] = [bench.deps.settings.planRead, bench.now()];
      const plan = { hash: other ?? hash, readAt: readAt + ms };
      const value = { holder: "alive", since: now, beatAt: now, plan, accounts: {} };
      await putDocument(bench, { kind: "dispatcher", key: "dispatcher" }, value);
      let woken = 0;
      bench.deps.wakeDispatcher = async () => void (woken += 1);
      await bench.send(message(aCallNow(bench)));
      await bench.deliver();
      expect(woken).toBe(count);
    },
  );

  it("wakes none for rows that are due later, and is not held up by one that cannot be woken", async () => {
    const plan = {
      callingHours: { default: { "mon-sun": ["12:00-17:00"] } },
      destinations: { allow: ["*"] },
    };
    const bench = createBench({ isNew: true, plan });
    let woken = 0;
    bench.deps.wakeDispatcher = async () => {
      woken += 1;
      throw new Error("the invocation is throttled");
    };
    await bench.send(message(aCallNow(bench, inUtc())));
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(woken).toBe(0);
    await bench.send(
      message(aCallNow(bench, { phone_number: "+97145550100", timezone: "+04:00" })),
    );
    expect(await bench.deliver()).toEqual(["ack"]);
    expect(woken).toBe(1);
    expect(bench.eventsOf("dispatcher.not_woken")).toMatchObject([{ level: "warning" }]);
  });

  it("of a row that comes back after an answer wakes one too", async () => {
    const bench = createBench();
    let woken = 0;
    bench.deps.wakeDispatcher = async () => void (woken += 1);
    bench.answer = async () => ({ kind: "not_placed", code: "http_429" });
    await bench.send(message(aCallNow(bench)));
    await bench.deliver();
    expect(woken).toBe(1);
    expect((await documentOf(bench, "account", ownAccount))?.value.quick).toBe(true);
  });
});
