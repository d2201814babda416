import { expect, it } from "vitest";
import { readBacklogs } from "#functions/operator/forecast/read-backlogs.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { callBackLateMs } from "#shared/calls/tries.ts";
import { expiryOf } from "#shared/dial-plan/expiry.ts";
import { createForecastBench } from "#test/support/forecast-bench.ts";
import { callsNow, putIn } from "#test/support/dialer-calls.ts";

const hourMs = 3_600_000;

/** Puts more waiting calls than a forecast reads whole, by their number, and returns when each expires. */
async function expiriesOf(more: (index: number, acceptedAt: number) => Partial<Call>) {
  const { dialer } = createForecastBench({ expireAfterHours: 24 });
  const calls = callsNow(dialer, 1_100).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (const [index, call] of calls.entries()) {
    const own = more(index, call.acceptedAt);
    const dueAt = own.tries?.promisedAt ?? dialer.now();
    await putIn(dialer, "WAITING", { ...call, ancestors: ["call_before"], ...own }, { dueAt });
  }
  const { documents, rows: ledger, deps } = dialer;
  const { waiting } = await readBacklogs(() => true, { documents, ledger });
  expect(waiting).toHaveLength(1_100);
  expect(waiting.some(({ hasNumber }) => !hasNumber)).toBe(true);
  const { plan } = deps.settings;
  return waiting.map(({ call, dueAt }) => ({ dueAt, expiresAt: expiryOf(call, plan) }));
}

it("a forecast has a promised call expire after its own time, and not after a neighbour's", async () => {
  const place = { number: 2, budget: 2, dialedAt: [] };
  const expiries = await expiriesOf((index, acceptedAt) => {
    const promisedAt = acceptedAt + index * hourMs;
    return { tries: { ...place, until: promisedAt + callBackLateMs, promisedAt } };
  });
  for (const { dueAt, expiresAt } of expiries) expect(expiresAt).toBe(dueAt + callBackLateMs);
});
