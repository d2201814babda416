/**
 * Counts what results and events add to a call, on both platforms' engines: of an account without a pace, which tells
 * by callbacks, and of one with a pace, which is asked.
 */
import { startAws } from "./counted-aws.ts";
import { startCloudflare } from "./counted-cloudflare.ts";
import { combined, type Counted, createMeter, type Meter, sumOf } from "./meter.ts";
import { report, table, type Target } from "./report.ts";
import type { CountedPlatform } from "./service.ts";
import { type Account, accountNames, startTold, type DeliveryOutcome } from "./told-service.ts";

const calls = 300;
/** Minutes after which the stand-in's calls have ended and were asked about. */
const minutes = 4;
const messagesMax = 1.2;

const shapes: DeliveryOutcome[] = ["nothing", "results", "results and an event"];
/** Counts a call of a request from its acceptance until its end is told. */
async function countTold(
  start: (meter: Meter) => Promise<CountedPlatform>,
  account: Account,
  told: DeliveryOutcome,
): Promise<Counted> {
  const meter = createMeter();
  const platform = await start(meter);
  const before = platform.stored();
  const bench = await startTold(platform, meter, { account, told });
  await bench.place(calls);
  await bench.passMinutes(minutes);
  const stages = meter.take();
  const { all, table: ofTable } = platform.stored();
  const heard = bench.heard();
  const { placed } = bench.standIn.calls;
  const expected = told === "results and an event" ? calls : 0;
  if (heard !== expected || placed.length !== calls) {
    const seen = `${placed.length} of ${calls} calls were placed, ${heard} of ${expected} events told`;
    throw new Error(`${seen}: ${platform.name}, ${account}, ${told}`);
  }
  await bench.stop();
  await platform.stop();
  const written = platform.name === "AWS" ? "dynamoWriteUnits" : "d1RowsWritten";
  const ofAll = {
    ...sumOf(stages.values()),
    writtenOfDocuments: stages.get("documents")?.[written] ?? 0,
    providerRequests: bench.standIn.requests.length,
    storedBytes: all - before.all,
    storedTableBytes: ofTable - before.table,
    results: told === "nothing" ? 0 : calls,
    events: heard,
  };
  return combined({ ...neverCounted, ...ofAll }, {}, (amount) => amount / calls);
}

/** Quantities that a batch of this size may not need, though their price is computed. */
const neverCounted = { r2Writes: 0, r2Reads: 0, s3Puts: 0, s3Gets: 0 };

const inNumber = (amount = 0) => amount.toFixed(2);
const inWhole = (amount = 0) => amount.toFixed(0);
const platforms = [
  ["cloudflare", startCloudflare, "d1RowsWritten", "d1RowsRead", 12, "rows of D1"],
  ["aws", startAws, "dynamoWriteUnits", "dynamoReadUnits", 14, "units of DynamoDB"],
] as const;

const rows: string[][] = [];
const bytes: string[][] = [];
const targets: Target[] = [];
const counts: Record<string, number> = {};
for (const [key, start, written, read, writtenMax, what] of platforms) {
  for (const [account, name] of accountNames) {
    for (const told of shapes) {
      const last = await countTold(start, account, told);
      const amount = last[written] ?? Infinity;
      const messages = last["eventMessages"] ?? 0;
      rows.push([
        `${what}; ${name}`,
        told,
        inNumber(amount),
        inNumber(last["writtenOfDocuments"]),
        inNumber(last[read]),
        messages.toFixed(3),
      ]);
      const stored = [last["storedBytes"], last["storedTableBytes"]].map((one) => inWhole(one));
      bytes.push([`${key === "aws" ? "DynamoDB" : "D1"}; ${name}`, told, ...stored]);
      for (const [counted, count] of Object.entries(last)) {
        counts[`${key}.${account}.${told}.${counted}`] = count;
      }
      if (told !== "results and an event") continue;
      targets.push({
        what: `a call with its result and an event, ${what} written; ${name}`,
        target: `≤ ${writtenMax}`,
        measured: inNumber(amount),
        met: amount <= writtenMax,
      });
      if (account !== "waiting") continue;
      targets.push({
        what: `messages of such a call, ${key === "aws" ? "AWS" : "Cloudflare"}`,
        target: `≤ ${messagesMax}`,
        measured: (1 + messages).toFixed(2),
        met: 1 + messages <= messagesMax,
      });
    }
  }
}

report({
  title: "Results and events",
  text: [
    `A call of ${calls}, from its acceptance until its end is told. Sweeps of ${minutes} minutes are in it. Without a pace calls come in requests of ${calls}, and their account is a webhook, which tells of each end by a callback of its own: one message more. With a pace they go at once where they come in requests of 25, and wait where they come in one of ${calls}.`,
    table(["", "told", "written", "of documents", "read", "messages on the events queue"], rows),
    "What it leaves in the ledger, in bytes, with a share of the documents and of pages that are not full:",
    table(["", "told", "with indexes", "without, on DynamoDB"], bytes),
  ].join("\n\n"),
  targets,
  counts,
});
