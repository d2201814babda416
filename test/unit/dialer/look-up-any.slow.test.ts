import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DialOutcome } from "#shared/providers/provider.ts";
import { aCall } from "#test/support/calls.ts";
import { createDialerBench } from "#test/support/dialer.ts";
import { rowOf, sendEach } from "#test/support/dialer-calls.ts";
import { perTier } from "#test/support/per-tier.ts";

const unknown: DialOutcome = { kind: "unknown", code: "http_500" };
const agents = {
  vapi: { provider: "vapi", agent: "asst_9", from: "phone_1" },
  twilio: { provider: "twilio", from: "+12025550100", stream: "wss://example.com/" },
};
/** Fast enough that no call waits for another. */
const fast = { callsPerSecond: 1000, burst: 1000 };
const plan = { agents, providers: { vapi: fast, twilio: fast } };

const fate = fc.record({
  agent: fc.constantFrom("vapi" as const, "twilio" as const),
  number: fc.integer({ min: 0, max: 3 }),
  placed: fc.boolean(),
  recordedAfterSeconds: fc.integer({ min: 0, max: 600 }),
  sentAfterSeconds: fc.integer({ min: 0, max: 200 }),
});

describe("calls of unknown outcome in any number", () => {
  it("are sent once each, and end PLACED if found and in review if not", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { minLength: 1, maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 20 }),
        async (fates, lateness) => {
          const bench = createDialerBench({ plan });
          const calls = fates.map((one) => ({
            ...one,
            call: aCall({
              request: { phone_number: `+1202555012${one.number}`, agent_id: one.agent },
            }),
          }));
          const fateOf = (id: string) => calls.find(({ call }) => call.id === id);
          /** Records of each provider. */
          const records: { id: string; at: number; agent: string; number: string }[] = [];
          bench.answer = async ({ id, request: { phone_number: number, agent_id: agent } }) => {
            if (fateOf(id)?.placed === true) records.push({ id, at: bench.now(), agent, number });
            await bench.sleep(500);
            return unknown;
          };
          bench.find = async ({ call, from, until }) => {
            const listed = records.filter(({ id, at }) => {
              const seconds = fateOf(id)?.recordedAfterSeconds ?? 0;
              return bench.now() >= at + seconds * 1000;
            });
            if (call.request.agent_id === "vapi") {
              const mine = listed.find(({ id, agent }) => id === call.id && agent === "vapi");
              return mine && { by: "id", providerCallId: `provider_${mine.id}` };
            }
            const candidates = listed.filter(
              ({ at, agent, number }) =>
                agent === "twilio" &&
                number === call.request.phone_number &&
                at >= from &&
                at <= until,
            );
            return { by: "number", providerCallIds: candidates.map(({ id }) => `provider_${id}`) };
          };
          let next = 0;
          const lateMs = () => lateness[next++ % lateness.length] ?? 0;
          let second = 0;
          for (const one of calls.toSorted((a, b) => a.sentAfterSeconds - b.sentAfterSeconds)) {
            await bench.simulate(one.sentAfterSeconds - second, { lateMs });
            second = one.sentAfterSeconds;
            await sendEach(bench, one.call);
          }
          await bench.simulate(900, { lateMs });
          expect(bench.dialed).toHaveLength(calls.length);
          expect(new Set(bench.dialed.map(({ call }) => call.id)).size).toBe(calls.length);
          for (const { call, placed, recordedAfterSeconds, agent } of calls) {
            const row = await rowOf(bench, call);
            expect(["PLACED", "NEEDS_REVIEW"]).toContain(row.state);
            // A row that says PLACED is right, and names this very call.
            if (row.state === "PLACED") {
              expect(placed).toBe(true);
              expect(row.providerCallId).toBe(`provider_${call.id}`);
            } else expect(row.request).toEqual(call.request);
            if (agent === "vapi" && placed && recordedAfterSeconds < 250) {
              expect(row.state).toBe("PLACED");
            }
          }
        },
      ),
      { numRuns: perTier({ quick: 6, long: 20 }) },
    );
  });
});
