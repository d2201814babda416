/** What one call costs where a request brings more of them, and where the ledger has more rows. */
import type {
  CallLedger,
  Claim,
  Settlement,
  UnclaimedWrite,
} from "../../shared/ledger/call-ledger.ts";
import { createMemoryLedger } from "../../shared/ledger/memory-ledger.ts";
import { createCloudflareQueue } from "../../shared/queue/cloudflare-queue.ts";
import { startAws } from "./counted-aws.ts";
import { type CountedCloudflare, startCloudflare } from "./counted-cloudflare.ts";
import { callOf, fillD1, fillDynamo, startAt, traceOf } from "./filled-ledger.ts";
import { cpuOf, cpuOfProcess, type Costs, inTurns } from "./measure.ts";
import { type Counted, createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, times, type Target } from "./report.ts";
import { type CountedPlatform, createService, requestOf } from "./service.ts";

const requestSizes = [1, 10, 100, 1000, 10_000];
/** Of a larger request so many are dialed: each delivery is like the others. */
const dialedMax = 1000;
const rowsOfD1 = [1000, 10_000, 100_000, 1_000_000];
const rowsOfDynamo = [100, 1000, 10_000];
/** Calls that are claimed, settled and deferred in one go. */
const together = 40;
/** Dialed in a round of which the CPU time is taken. */
const callsPerRound = 600;
const cpuRounds = 7;
const cpuRatioMax = 1.5;
const hourMs = 3_600_000;

const inWords = (count: number) => count.toLocaleString("en");
const short = (amount: number) => String(Number(amount.toFixed(3)));
/** Round trips to whatever service. */
const tripsOf = (counted: Counted) =>
  [
    "d1Queries",
    "dynamoRequests",
    "queueSends",
    "sqsSends",
    "r2Writes",
    "r2Reads",
    "s3Puts",
    "s3Gets",
  ]
    .map((name) => counted[name] ?? 0)
    .reduce((sum, one) => sum + one, 0);
/** Rows read and written on D1; on DynamoDB units. */
const touchedOf = ({ d1RowsRead = 0, d1RowsWritten = 0, ...aws }: Counted) =>
  d1RowsRead + d1RowsWritten + (aws["dynamoReadUnits"] ?? 0) + (aws["dynamoWriteUnits"] ?? 0);

const targets: Target[] = [];
const ends = (numbers: readonly number[]) =>
  [...new Set([numbers[0] ?? 0, numbers.at(-1) ?? 0].map(short))].join(" → ");
/** Each number is no larger than the one before it, but for a hundredth. */
const isFalling = (numbers: readonly number[]) =>
  numbers.every((one, index) => one <= (numbers[index - 1] ?? one) * 1.01);

function judgeCpu(what: string, costs: readonly Costs[]): void {
  const [least, most] = costs;
  if (least === undefined || most === undefined) throw new Error("nothing was measured");
  targets.push({
    what,
    target: `≤ ${cpuRatioMax} ×`,
    measured: times(most, least),
    met: most.median <= cpuRatioMax * least.median,
  });
}

/** Requests of one call up to ten thousand: what a request costs to accept, and a call of it to split and dial. */
async function growRequests(platform: CountedPlatform, meter: Meter): Promise<string> {
  const service = createService(platform, meter);
  const rows: string[][] = [];
  const accepts: number[] = [];
  const trips: number[] = [];
  const touched: number[] = [];
  for (const size of requestSizes) {
    const calls = Array.from({ length: size }, (_, n) => requestOf(n));
    await service.accept(calls.length === 1 && calls[0] ? calls[0] : calls);
    accepts.push(tripsOf(sumOf(meter.take().values())));
    if (size > 1) await service.split();
    const split = tripsOf(sumOf(meter.take().values())) / size;
    const dialed = Math.min(size, dialedMax);
    await service.deliverAll(platform.deliverySize, dialed);
    const dialing = sumOf(meter.take().values());
    platform.deliver(size - dialed);
    meter.take();
    trips.push(split + tripsOf(dialing) / dialed);
    touched.push(touchedOf(dialing) / dialed);
    rows.push([accepts, trips, touched].map((all) => short(all.at(-1) ?? 0)));
  }
  const what = platform.name === "AWS" ? "units consumed" : "rows touched";
  targets.push(
    {
      what: `growth: round trips to accept a request, ${platform.name}, 1 to 10,000 calls`,
      target: "≤ 2",
      measured: ends(accepts),
      met: accepts.every((one) => one <= 2),
    },
    {
      what: `growth: round trips and ${what} per call, ${platform.name}, 1 to 10,000 calls a request`,
      target: "does not grow",
      measured: `${ends(trips)}, ${ends(touched)}`,
      met: isFalling(trips) && isFalling(touched),
    },
  );
  return table(
    [
      "calls a request",
      "round trips to accept it",
      "round trips per call to split and dial",
      `${what} per call`,
    ],
    requestSizes.map((size, index) => [inWords(size), ...(rows[index] ?? [])]),
  );
}

/** What the ledger is asked for fresh calls, for a sweep, and for what an operator sees first. */
function questionsOf(ledger: CallLedger, listed: number): [string, () => Promise<unknown>][] {
  const calls = Array.from({ length: together }, (_, n) => callOf(n));
  const claims = calls.map((call): Claim => {
    const { id: token } = call;
    const route = { provider: "webhook", type: "webhook", url: "http://127.0.0.1:9/" } as const;
    const at = startAt + 1000;
    return { call, ...traceOf(call), token, route, attempt: 1, at, deadline: at + hourMs };
  });
  const settlements = calls.map(({ id }): Settlement => {
    return { id, token: id, state: "PLACED", reason: "placed", at: startAt + 2000 };
  });
  const waits = calls.map((): UnclaimedWrite => {
    const later = callOf(0);
    const dueAt = startAt + 9 * hourMs;
    const why = { state: "DEFERRED", reason: "hours:default", dueAt } as const;
    return { call: later, ...traceOf(later), ...why, at: startAt, seenDueAt: null };
  });
  return [
    [`to claim ${together} calls`, () => ledger.claim(claims)],
    [`to settle ${together} calls`, () => ledger.settle(settlements)],
    [`to defer ${together} calls`, () => ledger.defer(waits)],
    ["an operator's first page, of PLACED", () => ledger.list({ state: "PLACED", limit: listed })],
    ["an operator's first page, of PARKED", () => ledger.list({ state: "PARKED", limit: listed })],
  ];
}

/** What each question costs with ever more rows in the ledger. */
async function growRows(
  platform: CountedPlatform,
  meter: Meter,
  {
    sizes,
    listed,
    fill,
  }: {
    sizes: readonly number[];
    listed: number;
    fill: (from: number, to: number) => Promise<void>;
  },
): Promise<string> {
  const service = createService(platform, meter);
  const found = new Map<string, { trips: number; touched: number; text: string }[]>();
  const keep = (what: string) => {
    const counted = sumOf(meter.take().values());
    const [trips, touched] = [tripsOf(counted), touchedOf(counted)];
    const { d1RowsRead: read, d1RowsWritten: written } = counted;
    const { dynamoReadUnits: unitsRead = 0, dynamoWriteUnits: unitsWritten = 0 } = counted;
    const text = `${trips} · ${short(read ?? unitsRead)} · ${short(written ?? unitsWritten)}`;
    found.set(what, [...(found.get(what) ?? []), { trips, touched, text }]);
  };
  let filled = 0;
  for (const size of sizes) {
    await fill(filled, size);
    await platform.ledger.writeCounts();
    filled = size;
    meter.take();
    for (const [what, ask] of questionsOf(platform.ledger, listed)) {
      await ask();
      await platform.ledger.writeCounts();
      keep(what);
    }
    // What comes due meanwhile is not to change what a sweep finds.
    service.setClock(startAt);
    await service.sweep();
    meter.take();
    await service.deliverAll(1, 1);
    keep("a sweep");
    platform.deliver(platform.waiting());
  }
  const all = [...found.values()];
  const isFlat = all.every((costs) =>
    costs.every(({ trips, touched }) => trips === costs[0]?.trips && touched === costs[0].touched),
  );
  const sums = (["trips", "touched"] as const).map((what) =>
    ends(sizes.map((_, index) => all.reduce((sum, costs) => sum + (costs[index]?.[what] ?? 0), 0))),
  );
  const unit = platform.name === "AWS" ? "units consumed" : "rows touched";
  const span = `${inWords(sizes[0] ?? 0)} to ${inWords(sizes.at(-1) ?? 0)} rows`;
  targets.push({
    what: `growth: round trips and ${unit}, ${platform.name}, ${span}`,
    target: "does not grow",
    measured: sums.join(", "),
    met: isFlat,
  });
  return table(
    ["rows in the ledger", ...sizes.map(inWords)],
    [...found].map(([what, costs]) => [what, ...costs.map(({ text }) => text)]),
  );
}

/** CPU time that accepting a call takes in this process: in ten requests of a thousand, and in one of ten thousand. */
async function acceptCpu(): Promise<Costs[]> {
  const meter = createMeter();
  const sink = { send: async () => undefined, put: async () => undefined };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the methods that are called
  const queue = createCloudflareQueue(sink as unknown as Queue, sink as unknown as R2Bucket);
  const service = createService(
    {
      name: "Cloudflare",
      ledger: createMemoryLedger(),
      queue,
      deliverySize: 40,
      lanes: 5,
      waiting: () => 0,
      deliver: () => [],
      stop: async () => undefined,
    },
    meter,
  );
  return inTurns(
    [1000, 10_000].map((size) => {
      const calls = Array.from({ length: size }, (_, n) => requestOf(n));
      return {
        name: `${inWords(size)} calls a request`,
        round: () =>
          cpuOf(async () => {
            for (let n = 0; n < 10_000; n += size) await service.accept(calls);
          }),
      };
    }),
    { count: cpuRounds },
  );
}

/** CPU time that D1's process takes to have calls dialed, with few rows and with many. */
async function dialCpu(databases: readonly [string, CountedCloudflare][]): Promise<Costs[]> {
  return inTurns(
    databases.map(([name, platform]) => {
      const service = createService(platform, createMeter());
      return {
        name,
        async round() {
          const calls = Array.from({ length: callsPerRound }, (_, n) =>
            callOf(n, { acceptedAt: Date.now() }),
          );
          const before = await cpuOfProcess(platform.pid);
          await service.dial(calls, platform.deliverySize);
          return (await cpuOfProcess(platform.pid)) - before;
        },
      };
    }),
    { count: cpuRounds },
  );
}

const texts: string[] = [];
const explained =
  "Round trips · rows read · rows written; on DynamoDB round trips · read units · write units.";

const meter = createMeter();
const cloudflare = await startCloudflare(meter);
const few = await startCloudflare(createMeter());
try {
  texts.push("### Calls a request, Cloudflare", await growRequests(cloudflare, meter));
  await cloudflare.database.prepare("DELETE FROM calls").run();
  const [fewest = 0] = rowsOfD1;
  texts.push(
    "### Rows in the ledger, D1",
    explained,
    await growRows(cloudflare, meter, {
      sizes: rowsOfD1,
      listed: 51,
      fill: (from, to) => fillD1(cloudflare, from, to),
    }),
  );
  await fillD1(few, 0, fewest);
  const accepting = await acceptCpu();
  judgeCpu("growth: CPU to accept a call, 10,000 against 1,000 calls a request", accepting);
  const dialing = await dialCpu([
    [`${inWords(fewest)} rows`, few],
    [`${inWords(rowsOfD1.at(-1) ?? 0)} rows`, cloudflare],
  ]);
  judgeCpu("growth: CPU of D1 to dial a call, 1,000,000 against 1,000 rows", dialing);
  const perCall = (costs: Costs[], calls: number) =>
    costs.map((cost) => [
      cost.name,
      `${(cost.median / calls).toFixed(0)} µs`,
      times(cost, costs[0] ?? cost),
    ]);
  texts.push(
    "### CPU",
    "To accept a call in this process, what a request costs beside it included, and D1's process to have one dialed:",
    table(["", "a call", ""], [...perCall(accepting, 10_000), ...perCall(dialing, callsPerRound)]),
  );
} finally {
  await Promise.all([cloudflare.stop(), few.stop()]);
}

const awsMeter = createMeter();
const aws = await startAws(awsMeter);
try {
  texts.push("### Calls a request, AWS", await growRequests(aws, awsMeter));
} finally {
  await aws.stop();
}
const filledAws = await startAws(awsMeter);
try {
  texts.push(
    "### Rows in the ledger, DynamoDB",
    explained,
    await growRows(filledAws, awsMeter, {
      sizes: rowsOfDynamo,
      listed: 5,
      fill: (from, to) => fillDynamo(filledAws, from, to),
    }),
  );
} finally {
  await filledAws.stop();
}
report({ title: "Growth", text: texts.join("\n\n"), targets });
