/** Measures the cost per call for requests with more calls, and for ledgers with more rows. */
import { startAws } from "./counted-aws.ts";
import { type CountedCloudflare, startCloudflare } from "./counted-cloudflare.ts";
import { fillD1, fillDynamo } from "./filled-ledger.ts";
import { inWords } from "./growth-counts.ts";
import { acceptCpu, growRequests } from "./growth-requests.ts";
import { growRows } from "./growth-rows.ts";
import { cpuOfProcess, type Costs, inTurns } from "./measure.ts";
import { createMeter } from "./meter.ts";
import { report, table, times, type Target } from "./report.ts";
import { createService } from "./service.ts";

const rowsOfD1 = [1000, 10_000, 100_000, 1_000_000];
const rowsOfDynamo = [3000, 10_000];
/** Calls per round, and rounds whose CPU time is measured. */
const callsPerRound = 600;
const cpuRounds = 7;
const cpuRatioMax = 1.5;

const texts: string[] = [];
const targets: Target[] = [];
const add = (title: string, found: { text: string; targets: Target[] }, lead?: string) => {
  texts.push(`### ${title}`, ...(lead === undefined ? [] : [lead]), found.text);
  targets.push(...found.targets);
};

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

/** Measures the CPU time of D1's process for dialing calls, with few rows and with many. */
async function dialCpu(databases: readonly [string, CountedCloudflare][]): Promise<Costs[]> {
  return inTurns(
    databases.map(([name, platform]) => {
      const service = createService(platform, createMeter());
      return {
        name,
        async round() {
          const before = await cpuOfProcess(platform.pid);
          await service.dial(callsPerRound);
          return (await cpuOfProcess(platform.pid)) - before;
        },
      };
    }),
    { count: cpuRounds },
  );
}

const explained =
  "Round trips · rows read · rows written; on DynamoDB round trips · read units · write units.";

const meter = createMeter();
const cloudflare = await startCloudflare(meter);
const few = await startCloudflare(createMeter());
try {
  add("Calls a request, Cloudflare", await growRequests(cloudflare, meter));
  await cloudflare.database.prepare("DELETE FROM calls").run();
  const [fewest = 0] = rowsOfD1;
  const fill = (from: number, to: number) => fillD1(cloudflare, from, to);
  const rows = await growRows(cloudflare, meter, { sizes: rowsOfD1, listed: 51, fill });
  add("Rows in the ledger, D1", rows, explained);
  await fillD1(few, 0, fewest);
  cloudflare.clock.set(Date.now());
  const accepting = await acceptCpu(cpuRounds);
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
  add("Calls a request, AWS", await growRequests(aws, awsMeter));
} finally {
  await aws.stop();
}
const filledAws = await startAws(awsMeter);
try {
  const fill = (from: number, to: number) => fillDynamo(filledAws, from, to);
  const rows = await growRows(filledAws, awsMeter, { sizes: rowsOfDynamo, listed: 5, fill });
  add("Rows in the ledger, DynamoDB", rows, explained);
} finally {
  await filledAws.stop();
}
report({ title: "Growth", text: texts.join("\n\n"), targets });
