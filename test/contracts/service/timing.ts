import { expect, it } from "vitest";
import { until } from "#test/support/service.ts";
import { callsTo, post, type ServiceBench } from "./setup.ts";

/** Headers that say when calls are dialed. */
export function itDialsWhenHeadersSay(bench: ServiceBench): void {
  it("dials no call before Call-Not-Before, and then the urgent ones first", async () => {
    const at = Date.now() + 12_000;
    const [calls, sent] = [callsTo("paced", 8), { "call-not-before": new Date(at).toISOString() }];
    const [others, urgent] = [calls.slice(0, 5), calls.slice(5)];
    const asked = [
      post(bench.service, "/v1/calls/batch", others, sent),
      post(bench.service, "/v1/calls/batch", urgent, { ...sent, "call-priority": "urgent" }),
      post(bench.service, "/v1/calls", calls[0], { "call-priority": "soon" }),
    ];
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses).toEqual([201, 201, 422]);
    await until(() => bench.receiver.to("/paced").length >= calls.length);
    const dialed = bench.receiver.to("/paced");
    expect(Math.min(...dialed.map((one) => one.at))).toBeGreaterThanOrEqual(at);
    const numbers = dialed.map(({ text }): unknown => JSON.parse(text).phone_number);
    const placesOf = (some: typeof calls) =>
      some.map((one) => numbers.indexOf(one.phone_number)).toSorted((a, b) => a - b);
    expect(new Set(numbers)).toEqual(new Set(calls.map((one) => one.phone_number)));
    // The queue may deliver one of them late. It is then ahead of those of the others that still wait.
    const [lastUrgent, behind] = [Math.max(...placesOf(urgent)), placesOf(others).slice(-3)];
    expect(Math.min(...behind)).toBeGreaterThan(lastUrgent);
  });
}
