import { expect, it } from "vitest";
import { callBackLateMs } from "#shared/calls/tries.ts";
import { createForecastBench } from "#test/support/forecast-bench.ts";
import { callsNow, putIn, putWaiting } from "#test/support/dialer-calls.ts";

const dayMs = 86_400_000;

interface Listed {
  calls: { id: string }[];
  cursor?: string;
}

it("promised calls are listed at once, in pages, however many younger calls wait", async () => {
  const bench = createForecastBench({});
  const { dialer } = bench;
  const promisedAt = dialer.now() + 12 * dayMs;
  const until = promisedAt + callBackLateMs;
  const tries = { number: 2, budget: 2, until, dialedAt: [], promisedAt };
  const promised = callsNow(dialer, 3, {}, { ancestors: ["call_before"], tries });
  for (const call of promised) {
    await putIn(dialer, "WAITING", call, { reason: "call_back", dueAt: promisedAt });
  }
  dialer.advance(10 * dayMs);
  await putWaiting(dialer, 1_050, 0);
  await putWaiting(dialer, 2, 0, { urgent: true });
  const query = "/calls?state=WAITING&reason=call_back&limit=2";
  const first = await bench.operator<Listed>(query);
  const second = await bench.operator<Listed>(`${query}&cursor=${first.cursor}`);
  expect(second).not.toHaveProperty("cursor");
  const newest = promised.map(({ id }) => id).toSorted((one, other) => (one < other ? 1 : -1));
  expect([...first.calls, ...second.calls].map(({ id }) => id)).toEqual(newest);
});
