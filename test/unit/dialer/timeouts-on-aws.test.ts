import { describe, expect, it } from "vitest";
import { dialerTimeoutSeconds } from "#infra/aws/limits.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import {
  aCallNow,
  dispatchOf,
  message,
  putWaiting,
  stateOf,
  statesOf,
} from "#test/support/dialer-calls.ts";

/** The highest time limit of a request that a plan may have. */
const plan = { providers: { webhook: { timeoutSeconds: 90 } } };
const invocationMs = dialerTimeoutSeconds * 1000;

describe("an account with the longest time limit, in an invocation of AWS", () => {
  it("has its calls dialed", async () => {
    const bench = createDialerBench({ plan });
    const call = aCallNow(bench);
    await bench.send(message(call));
    expect(await bench.deliver(invocationMs)).toEqual(["ack"]);
    expect(await stateOf(bench, call)).toBe("PLACED");
  });

  it("has a request answered and settled that takes all of its time", async () => {
    const bench = createDialerBench({ plan, concurrency: 25 });
    const begunAt = bench.now();
    bench.answer = async (_call, _route, _attempt, timeoutSeconds) => {
      await bench.sleep(timeoutSeconds * 1000 - 1);
      return { kind: "placed" };
    };
    const calls = await putWaiting(bench, 25, 0);
    await bench.send(dispatchOf(calls));
    expect(await bench.deliver(invocationMs)).toEqual(["ack"]);
    expect(new Set(await statesOf(bench, calls))).toEqual(new Set(["PLACED"]));
    expect(bench.now() - begunAt).toBeLessThan(invocationMs);
  });

  it("is not dialed where the answer could come after the end of the invocation", async () => {
    const bench = createDialerBench({ plan });
    const call = aCallNow(bench);
    await bench.send(message(call));
    await bench.deliver(119_000);
    expect(bench.dialed).toEqual([]);
    expect(await stateOf(bench, call)).toBe("WAITING");
  });
});
