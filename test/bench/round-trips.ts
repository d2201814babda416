/** Counts a call's requests to each platform's services, stage by stage, over the real engines. */
import { startAws } from "./counted-aws.ts";
import { startCloudflare } from "./counted-cloudflare.ts";
import { type Counted, createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, type Target } from "./report.ts";
import { type CountedPlatform, createService, requestOf } from "./service.ts";
import {
  countIdleMinute,
  countShape,
  countWait,
  requestsOf,
  type Shape,
  shapeNames,
  shapes,
  type Stages,
} from "./shapes.ts";

const largeBatch = 10_000;

/** Counts shown in the tables, in this order. */
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
/** Counts for the cost computation that the tables do not show. */
const alsoBilled = ["logLines", "logBytes", "storedBytes", "storedTableBytes"] as const;
/** Unit costs of writes and messages, and the maximum of both per call. */
const priced = {
  Cloudflare: {
    write: { name: "d1RowsWritten", title: "rows written", most: 6 },
    documents: "d1RowsWritten",
    queue: { name: "queueOperations", title: "queue operations" },
  },
  AWS: {
    write: { name: "dynamoWriteUnits", title: "write units", most: 9.1 },
    documents: "dynamoWrites",
    queue: { name: "sqsRequests", title: "SQS requests" },
  },
} as const;
const queueOperationsMax = 0.2;
/** Stages that concern the call's own row. */
const ofRow = ["claim", "settle", "claim and settle", "decide"];

const roundTripsOf = ({ d1Queries = 0, queueSends = 0, r2Writes = 0, ...aws }: Counted) =>
  d1Queries +
  queueSends +
  r2Writes +
  (aws["dynamoRequests"] ?? 0) +
  (aws["sqsSends"] ?? 0) +
  (aws["s3Puts"] ?? 0);

const targets: Target[] = [];
const counts: Record<string, number> = {};

/** Formats a number with its significant digits. */
function short(amount: number): string {
  if (amount === 0) return "";
  return String(Number(amount.toPrecision(amount >= 100 ? 4 : 3)));
}

/** Counts the round trips for a batch of ten thousand, without and with an Idempotency-Key. */
async function countLargeBatch(platform: CountedPlatform, meter: Meter): Promise<string> {
  const service = createService(platform, meter);
  const rows: string[][] = [];
  for (const [key, most] of [
    [undefined, 2],
    [`bench ${Date.now()}`, 3],
  ] as const) {
    await service.accept(requestsOf(largeBatch), key);
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

/** Describes the writes of a fresh placed call and the cost of its messages, in each shape. */
function told(name: CountedPlatform["name"], counted: ReadonlyMap<Shape, Stages>): string {
  const { write, documents, queue } = priced[name];
  const rows = shapeNames.map((shape) => {
    const stages = counted.get(shape) ?? new Map<string, Counted>();
    const all = sumOf(stages.values());
    const own = sumOf(ofRow.map((stage) => stages.get(stage) ?? {}))[write.name] ?? 0;
    const written = all[write.name] ?? 0;
    const splits = stages.get("split")?.["dialerInvocations"] ?? 0;
    const deliveries = (all["dialerInvocations"] ?? 0) - splits;
    const ofDelivery = (stages.get("documents")?.[documents] ?? 0) / deliveries;
    const queued = all[queue.name] ?? 0;
    if (shape === "batch100") {
      const beside = `${short(own)} of its row, ${short(written - own)} of documents`;
      const of = name === "AWS" ? ", counts included" : " of its row";
      const measured = name === "AWS" ? written : own;
      targets.push(
        {
          what: `fresh placed call, ${write.title}${of}, ${name}, ${shapes[shape].told}`,
          target: `≤ ${write.most}`,
          measured: `${short(measured)}: ${beside}`,
          met: measured <= write.most,
        },
        {
          what: `${queue.title} of a call, ${shapes[shape].told}`,
          target: `≤ ${queueOperationsMax}`,
          measured: short(queued),
          met: queued <= queueOperationsMax,
        },
      );
    }
    return [shapes[shape].told, ...[own, ofDelivery, written, queued].map(short)];
  });
  const head = [`${write.title} of its row`, "documents written a delivery", `all ${write.title}`];
  return table(["a fresh call that is placed", ...head, queue.title], rows);
}

async function measure(start: (meter: Meter) => Promise<CountedPlatform>): Promise<string> {
  const meter = createMeter();
  const platform = await start(meter);
  const { name, concurrency } = platform;
  try {
    const large = await countLargeBatch(platform, meter);
    const counted = new Map<Shape, Stages>();
    for (const shape of shapeNames) counted.set(shape, await countShape(platform, meter, shape));
    const all = (shape: Shape) => sumOf(counted.get(shape)?.values() ?? []);
    const idle = await countIdleMinute(platform, meter);
    const waits = {
      lone: await countWait(platform, meter, "lone", all("lone")),
      batch: await countWait(platform, meter, "batch1000", all("batch1000")),
    };
    const columns = shown[name];
    const prefix = name === "AWS" ? "aws" : "cloudflare";
    for (const what of [...columns.map(([one]) => one), ...alsoBilled]) {
      for (const shape of shapeNames) counts[`${prefix}.${shape}.${what}`] = all(shape)[what] ?? 0;
      counts[`${prefix}.idleMinute.${what}`] = idle[what] ?? 0;
    }
    const row = (stage: string, one: Counted) => [
      stage,
      ...columns.map(([what]) => short(one[what] ?? 0)),
    ];
    const stageOf = (shape: Shape, stage: string) => counted.get(shape)?.get(stage) ?? {};
    const rows = [
      row("accept, posted singly", stageOf("lone", "accept")),
      row("accept, in a batch of 1,000", stageOf("batch1000", "accept")),
      row("split", stageOf("batch1000", "split")),
      ...[
        "dispatch",
        "deliver",
        "read",
        "claim",
        "settle",
        "claim and settle",
        "documents",
      ].flatMap((stage) =>
        counted.get("batch1000")?.has(stage) === true
          ? [row(`${stage}, in a batch of 1,000`, stageOf("batch1000", stage))]
          : [],
      ),
      ...shapeNames.map((shape) => row(`**all, ${shapes[shape].told}**`, all(shape))),
      row("wait for its hours, posted singly, on top", waits.lone),
      row("wait for its hours, in a batch of 1,000, on top", waits.batch),
      row("a minute in which nothing is due: a sweep and a dispatcher", idle),
    ];
    return [
      `### ${name}`,
      told(name, counted),
      `Per call, ${concurrency} requests of a delivery under way at once. A batch is split into rows, which a dispatcher ` +
        "hands out; its looks are by time, not by calls:",
      table(["", ...columns.map(([, title]) => title)], rows),
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
      "by started 64 KB, to write, read and delete; SQS hands out and deletes ten messages a request; D1's rows as its " +
      "`meta` has them; DynamoDB's units by the sizes of items and of their entries in indexes. A minute's sweep and dispatcher, and " +
      "what a queue is polled for in vain, are nobody's.",
    ...parts,
  ].join("\n\n"),
  targets,
  counts,
});
