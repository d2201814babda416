/** Measures after how many minutes each duty of the crons is done, beside many backlogs that wait and requests that finish. */
import { sweep, upkeep } from "#test/support/entries.ts";
import { aCall } from "../support/calls.ts";
import {
  createDutiesBench,
  type DutiesBench,
  fillBacklogs,
  finishRequests,
} from "../support/duties-bench.ts";
import { rowIn } from "../support/rows.ts";
import { report, table } from "./report.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Minutes for which a duty is watched. */
const minutesMax = 30;
/** Minutes in which requests finish. */
const finishingMinutes = 5;
/** Deliveries of the events queue at once, as on Cloudflare. */
const eventConsumers = 20;
const backlogSizes = [200, 1_200, 10_000];
const rates = [60, 600, 3_000];

/** Minutes until a duty is done; undefined: it was not within `minutesMax`. */
type Minutes = number | undefined;

/**
 * Minutes that this bench measured on b1c21553, by backlogs or by requests a minute, in the order of the duties. That sweep
 * did all of it, and nothing counted what D1 takes of an invocation.
 */
const before: Record<string, readonly Minutes[]> = {
  "200 backlogs": [1, 1, 1, 1, 1],
  "1,200 backlogs": [undefined, 1, 1, undefined, undefined],
  "10,000 backlogs": [undefined, 1, 1, undefined, undefined],
  "60 requests a minute": [1],
  "600 requests a minute": [8],
  "3,000 requests a minute": [undefined],
};

interface Duty {
  beside: string;
  name: string;
  /** Minutes within which it is promised. */
  promised: number;
  before: Minutes;
  after: Minutes;
}

/** Events of a type that were posted to the receiver. */
const postedOf = ({ posted }: DutiesBench, type: string) =>
  posted.filter(({ body }) => body.type === type).length;

/** Runs the crons of a minute, and then delivers what is on the queues until the next one. */
async function pass(bench: DutiesBench): Promise<void> {
  for (const cron of [sweep, upkeep]) await bench.runOne(cron);
  await bench.deliver();
  await bench.simulateEvents(minuteMs / 1_000, { consumers: eventConsumers });
}

/** Measures the duties beside this many backlogs that wait for tomorrow. */
async function besideBacklogs(backlogs: number): Promise<Duty[]> {
  const bench = createDutiesBench();
  const { deps } = bench;
  await fillBacklogs(bench, { backlogs }, bench.now() + 20 * hourMs);
  const at = bench.now() - 25 * hourMs;
  const rows = {
    claim: rowIn("DIALING", aCall({ client: "crm", acceptedAt: at }), { at }),
    unknown: rowIn("UNKNOWN", aCall({ client: "crm", acceptedAt: at }), { at, dueAt: at }),
    expired: rowIn("WAITING", aCall({ client: "crm", acceptedAt: at - 1_000 * hourMs }), {
      at,
      dueAt: bench.now() + 20 * hourMs,
    }),
  };
  await bench.write(Object.values(rows));
  await finishRequests(bench, 1);
  const left = async (id: string, state: string) => {
    const read = await deps.ledger.read([id]);
    return read.rows[0]?.state !== state;
  };
  return watch(bench, `${count(backlogs)} backlogs`, [
    [
      "a full round of claims and unknown outcomes",
      5,
      () => bench.eventsOf("sweep.completed").length > 0,
    ],
    ["a claim of a killed dialer is recovered", 5, () => left(rows.claim.id, "DIALING")],
    ["an unknown outcome is looked up or reviewed", 5, () => left(rows.unknown.id, "UNKNOWN")],
    ["a call that has expired is ended", 60, () => left(rows.expired.id, "WAITING")],
    ["the end of a request is told", 5, () => postedOf(bench, "request.finished") > 0],
  ]);
}

/** Measures how long after its last call the end of the last of many requests is told, beside 200 backlogs. */
async function besideRequests(rate: number): Promise<Duty[]> {
  const bench = createDutiesBench();
  await fillBacklogs(bench, { backlogs: 200 }, bench.now() + 20 * hourMs);
  for (let minute = 0; minute < finishingMinutes; minute++) {
    await finishRequests(bench, rate);
    await pass(bench);
  }
  const isTold = () => postedOf(bench, "request.finished") >= rate * finishingMinutes;
  return watch(bench, `${count(rate)} requests a minute`, [
    ["the end of the last request is told", 5, isTold],
  ]);
}

/** Runs minute after minute, and notes when each duty is done. */
async function watch(
  bench: DutiesBench,
  beside: string,
  duties: [name: string, promised: number, isDone: () => boolean | Promise<boolean>][],
): Promise<Duty[]> {
  const doneAt = new Map<string, number>();
  for (let minute = 1; minute <= minutesMax && doneAt.size < duties.length; minute++) {
    await pass(bench);
    for (const [name, , isDone] of duties) {
      if (!doneAt.has(name) && (await isDone())) doneAt.set(name, minute);
    }
  }
  return duties.map(([name, promised], index) => ({
    beside,
    name,
    promised,
    before: before[beside]?.[index],
    after: doneAt.get(name),
  }));
}

const count = (n: number) => n.toLocaleString("en-US");
const toText = (minutes: Minutes) => (minutes === undefined ? `> ${minutesMax}` : `${minutes}`);

const duties: Duty[] = [];
for (const backlogs of backlogSizes) duties.push(...(await besideBacklogs(backlogs)));
for (const rate of rates) duties.push(...(await besideRequests(rate)));

const late = duties.filter(({ promised, after = Infinity }) => after > promised);
report({
  title: "Duties of the crons",
  text: [
    "Minutes from a duty's beginning to its end, in simulated time, over D1's adapter and SQLite, which takes 1,000 statements of an invocation as D1 does. Before: commit b1c21553, whose sweep did all of it and ended at the limit.",
    table(
      ["beside", "duty", "promised", "before", "after"],
      duties.map((one) => [
        one.beside,
        one.name,
        `${one.promised}`,
        toText(one.before),
        toText(one.after),
      ]),
    ),
  ].join("\n\n"),
  targets: [
    {
      what: "duties of the crons done later than promised",
      target: "0",
      measured: `${late.length}`,
      met: late.length === 0,
    },
  ],
});
