/**
 * Measures the cost of dialing a call beside a BullMQ worker that posts the same, and counts people phoned
 * twice when workers die.
 */
import {
  cpuOfProcess,
  type Costs,
  type Failed,
  inTurns,
  reasonOf,
  rounds,
  summary,
} from "./measure.ts";
import {
  answerMs,
  concurrency as killedConcurrency,
  type Fates,
  killBullmq,
  killOurs,
  kills,
  lockMs,
  people,
} from "./killed-workers.ts";
import { type Side, startSide } from "./processes.ts";
import { noRedis, type Redis, startRedis } from "./redis.ts";
import { report, table, type Target, times } from "./report.ts";

const concurrency = 25;
const delayMs = 5;
const callsPerRound = 1500;
/** Calls per round of the slower sides, by which no target is judged. */
const closingCallsPerRound = 400;
const dynamoCallsPerRound = 120;
const bullmqName = "BullMQ's worker";
const coreName = "our dialer's core, ledger in memory";
const dynamoName = "our dialer's core, ledger in DynamoDB (the server not counted)";

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** One side's rounds: CPU in microseconds per call, and calls per second. */
interface Dialing {
  cpu: Costs;
  /** CPU including that of Redis. */
  cpuOfAll?: Costs;
  rate: Omit<Costs, "name">;
}

/** Lets the sides dial in turns. One that fails is noted in `failed`. */
async function measure(
  sides: { name: string; side: Side; calls: number; redis?: Redis | undefined }[],
  provider: Side,
  failed: Failed,
): Promise<Dialing[]> {
  const rates = new Map(sides.map(({ name }): [string, number[]] => [name, []]));
  const wholes = new Map(sides.map(({ name }): [string, number[]] => [name, []]));
  const cpus = await inTurns(
    sides.map(({ name, side, calls, redis }) => ({
      name,
      async round() {
        await side.ask({ ask: "prepare" });
        const before = await provider.ask<number>({ ask: "received" });
        const redisBefore = redis === undefined ? 0 : await cpuOfProcess(redis.pid);
        const { cpuUs, ms } = await side.ask<{ cpuUs: number; ms: number }>({ ask: "dial" });
        const ofRedis = redis === undefined ? 0 : (await cpuOfProcess(redis.pid)) - redisBefore;
        const received = (await provider.ask<number>({ ask: "received" })) - before;
        if (received !== calls) throw new Error(`${name} made ${received} of ${calls} calls`);
        await side.ask({ ask: "rest" });
        rates.get(name)?.push((calls / ms) * 1000);
        wholes.get(name)?.push((cpuUs + ofRedis) / calls);
        return cpuUs / calls;
      },
    })),
    { failed },
  );
  const counted = (numbers: number[] | undefined = []) => summary(numbers.slice(1));
  return cpus.map((cpu) => ({
    cpu,
    rate: counted(rates.get(cpu.name)),
    ...(sides.find(({ name }) => name === cpu.name)?.redis === undefined
      ? {}
      : { cpuOfAll: { name: `${cpu.name}, and Redis`, ...counted(wholes.get(cpu.name)) } }),
  }));
}

async function costs(redis: Redis | undefined): Promise<ReturnType<typeof told>> {
  const started: Side[] = [];
  const start = async (file: string, environment: Record<string, string>) => {
    const side = await startSide(file, environment);
    started.push(side);
    return side;
  };
  try {
    const provider = await start("provider.ts", { DELAY_MS: String(delayMs) });
    const PROVIDER_URL = `http://127.0.0.1:${provider.ready.port}/dial`;
    const core = (more: Record<string, string>, calls = callsPerRound) =>
      start("../dialer-core.ts", {
        PROVIDER_URL,
        CONCURRENCY: String(concurrency),
        CALLS: String(calls),
        ...more,
      });
    const dynamo = await start("../dialer-ledger.ts", {});
    const sides: Parameters<typeof measure>[0] = [
      { name: coreName, side: await core({}), calls: callsPerRound },
      {
        name: "our dialer's core, by fetch over connections that are kept open",
        side: await core({ CLIENT: "fetch" }),
        calls: callsPerRound,
      },
      {
        name: dynamoName,
        side: await core(
          {
            TABLE: "calls",
            AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${dynamo.ready.port}`,
            AWS_REGION: "us-east-1",
            AWS_ACCESS_KEY_ID: "local",
            AWS_SECRET_ACCESS_KEY: "local",
          },
          dynamoCallsPerRound,
        ),
        calls: dynamoCallsPerRound,
      },
    ];
    if (redis !== undefined) {
      const worker = (more: Record<string, string>, calls = callsPerRound) =>
        start("bullmq-worker.ts", {
          REDIS_PORT: String(redis.port),
          PROVIDER_URL,
          CALLS: String(calls),
          CONCURRENCY: String(concurrency),
          ...more,
        });
      sides.unshift(
        { name: bullmqName, side: await worker({}), calls: callsPerRound, redis },
        {
          name: "BullMQ's worker, a connection for each call",
          side: await worker({ CONNECTION: "close", QUEUE: "closing" }, closingCallsPerRound),
          calls: closingCallsPerRound,
        },
      );
    }
    const failed: Failed = new Map();
    return told(await measure(sides, provider, failed), failed);
  } finally {
    for (const side of started) side.stop();
  }
}

/** Formats the results; the first side is the reference of the others. Says which sides could not be measured. */
function told(
  dialings: Dialing[],
  failed: Failed,
): { text: string; targets: Target[]; counts: Record<string, number> } {
  const [base] = dialings;
  const ours = dialings.find(({ cpu }) => cpu.name === coreName);
  const withDynamo = dialings.find(({ cpu }) => cpu.name === dynamoName);
  const unmeasured = [...failed].map(([name, why]) => `Not measured: ${name} (${why}).`);
  if (base === undefined) throw new Error(unmeasured.join(" ") || "nothing was measured");
  const rows = dialings.flatMap(({ cpu, cpuOfAll, rate }) => {
    const row = [cpu.name, times(cpu, base.cpu), times(rate, base.rate)];
    return cpuOfAll === undefined ? [row] : [row, [cpuOfAll.name, times(cpuOfAll, base.cpu), ""]];
  });
  const text = `${concurrency} calls under way at once on either side, to a provider in a process of its own that answers after ${delayMs} ms; the same body, headers, signature and time limit. BullMQ's worker sends by fetch over connections that are kept open, unless the row says otherwise; ours as on Lambda, by Node's own client with a connection for each call. ${callsPerRound} fresh calls a round (${closingCallsPerRound} where fetch closes connections, ${dynamoCallsPerRound} with DynamoDB), ${rounds} rounds in turns. CPU is that of the one process that dials, user's and system's; putting the calls onto the queue is not counted. Ours also keeps a history and logs each call, which BullMQ's does not; its deliveries of 100 calls come one after the other, so that each ends with fewer than ${concurrency} under way. 1 × is ${Math.round(base.cpu.median)} µs and ${Math.round(base.rate.median)} calls a second.`;
  const isBeside = base.cpu.name === bullmqName && ours !== undefined;
  const measured = table(["", "CPU of a call", "Calls a second"], rows);
  return {
    text: [text, measured, ...unmeasured].join("\n\n"),
    targets: isBeside
      ? [
          {
            what: "dialing, CPU per call: the dialer's core beside BullMQ's worker process",
            target: "≤ 0.80 × BullMQ's",
            measured: times(ours.cpu, base.cpu),
            met: ours.cpu.median <= 0.8 * base.cpu.median,
          },
        ]
      : [],
    counts: {
      ...(ours && { "dialing.cpuMsPerCall": ours.cpu.median / 1000 }),
      ...(withDynamo && { "dialing.dynamoCpuMsPerCall": withDynamo.cpu.median / 1000 }),
    },
  };
}

async function killed(redis: Redis | undefined): Promise<{ text: string; targets: Target[] }> {
  const [theirs, ours] = await Promise.all([redis && killBullmq(redis), killOurs()]);
  const rowOf = (name: string, { twice, never, needReview, lost }: Fates) =>
    [name, twice, never, needReview, lost].map(String);
  const rows = [
    ...(theirs === undefined ? [] : [rowOf("BullMQ's worker", theirs)]),
    rowOf("ours, on the AWS shape", ours),
  ];
  const head = ["", "Phoned twice", "Never", "Wait for a person", "Lost"];
  const text = `${people} people, ${killedConcurrency} calls under way at once, a provider that answers after ${answerMs} ms; whatever dials is killed with SIGKILL ${kills} times with calls under way, and started again. BullMQ with its defaults, but that it locks jobs for ${lockMs / 1000} s instead of 30 and looks for stalled ones as often, so that this ends soon. Ours is \`npm run start:aws\`, a batch posted to its API; of whom nobody knows whether they were phoned, it asks a person.`;
  const beside = theirs === undefined ? "" : `; BullMQ's: ${theirs.twice} of ${people}`;
  return {
    text: `### Killed with calls under way\n\n${text}\n\n${table(head, rows)}`,
    targets: [
      {
        what: `people phoned twice after SIGKILL, of ${people}`,
        target: "0",
        measured: `${ours.twice}${beside}`,
        met: ours.twice === 0 && ours.lost === 0,
      },
    ],
  };
}

const redis = await startRedis();
try {
  const notMeasured = (what: string) => (error: unknown) => ({
    text: `Not measured: ${what} (${reasonOf(error)}).`,
    targets: [],
    counts: {},
  });
  const dialing = await costs(redis).catch(notMeasured("dialing"));
  const dead = await killed(redis).catch(notMeasured("killed with calls under way"));
  report({
    title: "Dialing",
    text: [...(redis === undefined ? [noRedis] : []), dialing.text, dead.text].join("\n\n"),
    targets: [...dialing.targets, ...dead.targets],
    counts: dialing.counts,
  });
} finally {
  await redis?.stop();
}
