/** Measures the cost per call for requests with more and more calls. */
import { createMemoryDocuments } from "../support/memory-documents.ts";
import { createMemoryLedger } from "../support/memory-ledger.ts";
import { createCloudflareQueue } from "#shared/cloudflare/queue.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Message } from "#shared/ports/call-messages.ts";
import { randomVersion } from "#shared/lib/random.ts";
import { ends, inWords, isFalling, short, touchedOf, tripsOf } from "./growth-counts.ts";
import { cpuOf, type Costs, inTurns } from "./measure.ts";
import { createMeter, type Meter, sumOf } from "./meter.ts";
import { table, type Target } from "./report.ts";
import { type CountedPlatform, createClock, createService } from "./service.ts";
import { requestsOf } from "./shapes.ts";

const requestSizes = [1, 10, 100, 1000, 10_000];
/** Maximum calls of a request that is dialed: each delivery is like the others. */
const dialedMax = 1000;
const messageCalls = 25;

/**
 * Measures requests of one call up to ten thousand: the cost of accepting a request, and of splitting and
 * dialing a call of it.
 */
export async function growRequests(
  platform: CountedPlatform,
  meter: Meter,
): Promise<{ text: string; targets: Target[] }> {
  const service = createService(platform, meter);
  await service.know();
  meter.take();
  const rows: string[][] = [];
  const accepts: number[] = [];
  const trips: number[] = [];
  const touched: number[] = [];
  for (const size of requestSizes) {
    const [first, ...others] = requestsOf(size);
    if (first === undefined) continue;
    await service.accept(others.length === 0 ? first : [first, ...others]);
    accepts.push(tripsOf(sumOf(meter.take().values())));
    if (size > messageCalls) await service.split();
    const split = tripsOf(sumOf(meter.take().values())) / size;
    if (size > dialedMax) {
      rows.push([short(accepts.at(-1) ?? 0), `${short(split)}, split alone`, ""]);
      continue;
    }
    await service.handOut();
    const stages = meter.take();
    stages.delete("dispatch"); // a dispatcher's looks are by time, not by calls
    const dialing = sumOf(stages.values());
    trips.push(split + tripsOf(dialing) / size);
    touched.push(touchedOf(dialing) / size);
    rows.push([accepts, trips, touched].map((all) => short(all.at(-1) ?? 0)));
  }
  const what = platform.name === "AWS" ? "units consumed" : "rows touched";
  const targets = [
    {
      what: `growth: round trips to accept a request, ${platform.name}, 1 to 10,000 calls`,
      target: "≤ 2",
      measured: ends(accepts),
      met: accepts.every((one) => one <= 2),
    },
    {
      what: `growth: round trips and ${what} per call, ${platform.name}, 1 to 1,000 calls a request`,
      target: "does not grow",
      measured: `${ends(trips)}, ${ends(touched)}`,
      met: isFalling(trips) && isFalling(touched),
    },
  ];
  const text = table(
    [
      "calls a request",
      "round trips to accept it",
      "round trips per call to split and dial",
      `${what} per call`,
    ],
    requestSizes.map((size, index) => [inWords(size), ...(rows[index] ?? [])]),
  );
  return { text, targets };
}

/**
 * Measures the CPU time of this process for accepting a call: in ten requests of a thousand, and in one of
 * ten thousand.
 */
export async function acceptCpu(count: number): Promise<Costs[]> {
  const sink = { send: async () => undefined, put: async () => undefined };
  const queueOf = <Sent>() =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they have the methods that are called
    createCloudflareQueue<Sent>(sink as unknown as Queue, sink as unknown as R2Bucket);
  const nothing = { waiting: () => 0, nextAt: () => Infinity, deliver: () => [] };
  const clock = createClock();
  const service = createService(
    {
      name: "Cloudflare",
      ledger: createMemoryLedger(),
      documents: createMemoryDocuments(clock.now, randomVersion),
      ...nothing,
      queue: queueOf<Message>(),
      events: { ...nothing, queue: queueOf<EventMessage>() },
      clock,
      deliverySize: 1,
      concurrency: 5,
      consumers: 50,
      dispatcher: { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: true },
      stored: () => ({ all: 0, table: 0 }),
      stop: async () => undefined,
    },
    createMeter(),
  );
  return inTurns(
    [1000, 10_000].map((size) => {
      const calls = requestsOf(size);
      return {
        name: `${inWords(size)} calls a request`,
        round: () =>
          cpuOf(async () => {
            for (let n = 0; n < 10_000; n += size) await service.accept(calls);
          }),
      };
    }),
    { count },
  );
}
