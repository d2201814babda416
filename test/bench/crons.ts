/** Measures the CPU and the statements of a minute's crons, beside backlogs that wait. */
import { sweep, upkeep } from "#test/support/entries.ts";
import { createDutiesBench, type DutiesBench, fillBacklogs } from "../support/duties-bench.ts";
import { report, table } from "./report.ts";

const sizes = [1_000, 10_000];
/** CPU of a Worker's cron that runs more often than hourly. https://developers.cloudflare.com/workers/platform/limits/ */
const cpuMsMax = 30_000;
const hourMs = 3_600_000;

interface Cost {
  cpuMs: number;
  statements: number;
}

/** CPU of this process without the database's, which does not run in the Worker, and statements. */
async function costOf({ sqlite }: DutiesBench, work: () => Promise<unknown>): Promise<Cost> {
  const [busyMs, statements, cpu] = [sqlite.busyMs(), sqlite.statements(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return {
    cpuMs: (user + system) / 1000 - (sqlite.busyMs() - busyMs),
    statements: sqlite.statements() - statements,
  };
}

const minute = 60;
const costs: { backlogs: number; of: string; cost: Cost }[] = [];
for (const backlogs of sizes) {
  const bench = createDutiesBench();
  await fillBacklogs(bench, { backlogs }, bench.now() + 20 * hourMs);
  await bench.minute(); // code is compiled, and the hourly visit and purge have ended
  await bench.minute();
  const all: Record<string, () => Promise<unknown>> = {
    sweep: () => bench.runOne(sweep),
    "upkeep, most minutes": () => bench.runOne(upkeep),
    "upkeep, hourly visit": async () => {
      bench.advance(hourMs);
      await bench.runOne(upkeep);
    },
    dispatcher: () =>
      bench.simulate(minute, { firstSweepSeconds: hourMs, dispatchEverySeconds: hourMs }),
  };
  for (const [of, work] of Object.entries(all)) {
    costs.push({ backlogs, of, cost: await costOf(bench, work) });
  }
}

const count = (n: number) => Math.round(n).toLocaleString("en-US");
report({
  title: "A minute's crons",
  text: [
    "CPU in milliseconds and statements of D1 of one run each, with one waiting call per backlog. The database, which is another machine in production, is SQLite here, and its time is taken off.",
    table(
      ["", "backlogs", "CPU, ms", "statements"],
      costs.map(({ backlogs, of, cost }) => [
        of,
        count(backlogs),
        count(cost.cpuMs),
        count(cost.statements),
      ]),
    ),
  ].join("\n\n"),
  targets: [
    {
      what: "the most CPU of a cron's minute, 10,000 backlogs",
      target: `≤ ${count(cpuMsMax)} ms`,
      measured: `${count(Math.max(...costs.map(({ cost }) => cost.cpuMs)))} ms`,
      met: costs.every(({ cost }) => cost.cpuMs <= cpuMsMax),
    },
  ],
});
