/** What a call asks of each platform's services, stage by stage, counted over the real engines. */
import { startAws } from "./counted-aws.ts";
import { startCloudflare } from "./counted-cloudflare.ts";
import { combined, type Counted, createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, type Target } from "./report.ts";
import { type CountedPlatform, createService, requestOf } from "./service.ts";

const calls = 1000;
const largeBatch = 10_000;
const delivery = 100;

/** What the tables show, in this order. */
const shown = {
  Cloudflare: [
    ["requests", "API requests"],
    ["d1Queries", "D1 round trips"],
    ["d1RowsRead", "D1 rows read"],
    ["d1RowsWritten", "D1 rows written"],
    ["queueSends", "queue round trips"],
    ["queueOperations", "queue operations"],
    ["r2Writes", "R2 writes"],
    ["r2Reads", "R2 reads"],
    ["dialerInvocations", "dialer invocations"],
    ["providerRequests", "provider requests"],
  ],
  AWS: [
    ["requests", "API requests"],
    ["dynamoRequests", "DynamoDB round trips"],
    ["dynamoWrites", "DynamoDB writes"],
    ["dynamoWriteUnits", "write units"],
    ["dynamoReadUnits", "read units"],
    ["sqsSends", "SQS round trips"],
    ["sqsRequests", "SQS requests, billed"],
    ["s3Puts", "S3 puts"],
    ["s3Gets", "S3 gets"],
    ["dialerInvocations", "dialer invocations"],
    ["providerRequests", "provider requests"],
  ],
} as const;
/** What is counted for the money, by platform. */
const billed = {
  Cloudflare: [
    "requests",
    "queueOperations",
    "dialerInvocations",
    "d1Queries",
    "d1RowsRead",
    "d1RowsWritten",
    "r2Writes",
    "r2Reads",
    "providerRequests",
  ],
  AWS: [
    "requests",
    "sqsRequests",
    "dialerInvocations",
    "dynamoWriteUnits",
    "dynamoReadUnits",
    "s3Puts",
    "s3Gets",
  ],
};
const roundTripsOf = ({ d1Queries = 0, queueSends = 0, r2Writes = 0, ...aws }: Counted) =>
  d1Queries +
  queueSends +
  r2Writes +
  (aws["dynamoRequests"] ?? 0) +
  (aws["sqsSends"] ?? 0) +
  (aws["s3Puts"] ?? 0);

const targets: Target[] = [];
const counts: Record<string, number> = {};

/** A number with as many digits as say something. */
function short(amount: number): string {
  if (amount === 0) return "";
  return String(Number(amount.toPrecision(amount >= 100 ? 4 : 3)));
}

const requests = (count: number) => Array.from({ length: count }, (_, n) => requestOf(n));
const perCall = (counted: Counted, of: number) => combined(counted, {}, (amount) => amount / of);

/** The services' round trips for a batch of ten thousand, without and with an Idempotency-Key. */
async function countLargeBatch(platform: CountedPlatform, meter: Meter): Promise<string> {
  const service = createService(platform, meter);
  const rows: string[][] = [];
  for (const [key, most] of [
    [undefined, 2],
    [`bench ${Date.now()}`, 3],
  ] as const) {
    await service.accept(requests(largeBatch), key);
    const counted = sumOf(meter.take().values());
    const roundTrips = roundTripsOf(counted);
    const kind = key === undefined ? "" : ", with an Idempotency-Key";
    targets.push({
      what: `batch of 10,000${kind}: round trips, ${platform.name}`,
      target: `≤ ${most}`,
      measured: String(roundTrips),
      met: roundTrips <= most,
    });
    rows.push([key === undefined ? "no" : "yes", String(roundTrips)]);
  }
  platform.deliver(2);
  meter.take();
  return table(["Idempotency-Key", "round trips to accept 10,000 calls"], rows);
}

/** Accepts a thousand calls, and takes them to their end. @returns what one call costs at each stage */
async function countShape(
  platform: CountedPlatform,
  meter: Meter,
  shape: "single" | "batch1000",
): Promise<Map<string, Counted>> {
  const service = createService(platform, meter);
  if (shape === "batch1000") {
    await service.accept(requests(calls));
    await service.split();
  } else for (const request of requests(calls)) await service.accept(request);
  await service.deliverAll();
  const stages = meter.take();
  const all = perCall(sumOf(stages.values()), calls);
  const prefix = platform.name === "AWS" ? "aws" : "cloudflare";
  for (const what of billed[platform.name]) counts[`${prefix}.${shape}.${what}`] = all[what] ?? 0;
  return new Map([...stages].map(([stage, counted]) => [stage, perCall(counted, calls)]));
}

/** What a call costs more that comes in the night and must wait for its hours: it is deferred, swept and reminded of. */
async function countWait(
  platform: CountedPlatform,
  meter: Meter,
  straight: Counted,
): Promise<Counted> {
  const hours = { callingHours: { default: { "mon-sun": ["09:00-17:00"] } } };
  const service = createService(platform, meter, { plan: hours });
  service.setClock(Date.parse("2026-06-02T07:00:00Z")); // 3 a.m. in New York
  for (const request of requests(calls)) await service.accept(request);
  await service.deliverAll();
  service.setClock(Date.parse("2026-06-02T12:58:30Z"));
  await service.sweep();
  await service.deliverAll(1, 1);
  service.setClock(Date.parse("2026-06-02T13:00:01Z"));
  await service.deliverAll();
  const counted = perCall(sumOf(meter.take().values()), calls);
  if (counted["providerRequests"] !== 1) throw new Error("not every call was dialed");
  return combined(counted, straight, (a, b) => Math.max(0, a - b));
}

/** What one delivery of a hundred fresh calls asks of the ledger. */
async function countDelivery(
  platform: CountedPlatform,
  meter: Meter,
  answers: "together" | "apart",
  size: number,
): Promise<Counted> {
  const service = createService(platform, meter);
  service.setAnswers(answers);
  for (const request of requests(delivery)) await service.accept(request);
  meter.take();
  await service.deliverAll(size);
  return sumOf(meter.take().values());
}

async function measure(start: (meter: Meter) => Promise<CountedPlatform>): Promise<string> {
  const meter = createMeter();
  const platform = await start(meter);
  const { name, deliverySize, lanes } = platform;
  try {
    const large = await countLargeBatch(platform, meter);
    const single = await countShape(platform, meter, "single");
    const batch = await countShape(platform, meter, "batch1000");
    const wait = await countWait(platform, meter, sumOf(single.values()));
    const columns = shown[name];
    const row = (stage: string, counted: Counted) => [
      stage,
      ...columns.map(([what]) => short(counted[what] ?? 0)),
    ];
    const rows = [
      row("accept, posted singly", single.get("accept") ?? {}),
      row("accept, in a batch of 1,000", batch.get("accept") ?? {}),
      row("split", batch.get("split") ?? {}),
      row("deliver", single.get("deliver") ?? {}),
      row("claim", single.get("claim") ?? {}),
      row("settle", single.get("settle") ?? {}),
      row("**all, posted singly**", sumOf(single.values())),
      row("**all, in a batch of 1,000**", sumOf(batch.values())),
      row("wait for its hours, on top", wait),
    ];
    const dialing: string[][] = [];
    for (const answers of ["together", "apart"] as const) {
      const size = name === "AWS" ? deliverySize : delivery;
      const counted = await countDelivery(platform, meter, answers, size);
      const trips = (counted["d1Queries"] ?? 0) + (counted["dynamoRequests"] ?? 0);
      const writes = (counted["dynamoWrites"] ?? 0) / delivery;
      const when = answers === "together" ? "all at once" : "each within 50 to 250 ms, at random";
      dialing.push([when, String(trips), ...(name === "AWS" ? [short(writes)] : [])]);
      if (answers === "apart") continue;
      targets.push(
        name === "AWS"
          ? {
              what: "dialing on DynamoDB, writes per call",
              target: "≤ 2",
              measured: `${short(writes)}: 2 of its row, ${short(writes - 2)} of the hours' counts`,
              met: writes <= 2,
            }
          : {
              what: "dialing on D1, round trips per 100 fresh calls",
              target: "≤ 45",
              measured: String(trips),
              met: trips <= 45,
            },
      );
    }
    const head = ["the provider answers", "round trips to the ledger"];
    const of = name === "AWS" ? `in deliveries of ${deliverySize}` : "in one delivery";
    return [
      `### ${name}`,
      `Per call, in deliveries of ${deliverySize}, as where many wait, with ${lanes} lanes:`,
      table(["", ...columns.map(([, title]) => title)], rows),
      `To dial 100 fresh calls ${of}:`,
      table(name === "AWS" ? [...head, "writes per call"] : head, dialing),
      large,
    ].join("\n\n");
  } finally {
    await platform.stop();
  }
}

const parts = [await measure(startCloudflare), await measure(startAws)];
const bytes = JSON.stringify(requestOf(0)).length;
report({
  title: "Round trips and operations",
  text: [
    `A call is ${bytes} B of JSON. What is billed is counted as the platforms bill it: queue operations and SQS requests ` +
      "by started 64 KB, to write, read and delete; SQS hands out and deletes ten messages a request; DynamoDB's write units " +
      "with those of its indexes. A minute's sweep, and what a queue is polled for in vain, is nobody's.",
    ...parts,
  ].join("\n\n"),
  targets,
  counts,
});
