/** Counts calls per person while the process that dials is repeatedly killed with SIGKILL. */
import { openService } from "../support/open-service.ts";
import { aws } from "../support/platforms.ts";
import { functionProcesses } from "../support/processes.ts";
import { startSlowProvider } from "../support/receiver.ts";
import { until } from "../support/service.ts";
import { callRequest } from "./competitors/payload.ts";
import { type Side, startSide } from "./processes.ts";
import type { Redis } from "./redis.ts";

export const people = 300;
export const kills = 5;
/** Calls under way at once. */
export const concurrency = 10;
/** Response time of the provider, in milliseconds. */
export const answerMs = 50;
/** Lifetime of BullMQ's job locks, and interval of its search for jobs of dead workers; both are 30 s by default. */
export const lockMs = 2_000;
/** Time for which a message of a killed function stays hidden. */
const visibilitySeconds = 5;
const callsBetweenKills = 40;
const settleMsMax = 120_000;

/** Numbers of people by their fate. */
export interface Fates {
  /** People whose call was sent to the provider more than once. */
  twice: number;
  /** People whose call was never sent. */
  never: number;
  /** People whose call waits for a person's decision, as its outcome is unknown. */
  needReview: number;
  /** People who were never phoned, and whose call is neither waiting nor on record. */
  lost: number;
  seconds: number;
}

/** Kills the dialing process repeatedly, each time after a number of further calls has arrived. */
async function killAgainAndAgain(received: readonly unknown[], kill: () => Promise<void>) {
  for (let n = 1; n <= kills; n++) {
    await until(() => received.length >= n * callsBetweenKills, {
      hangMs: settleMsMax,
      everyMs: 1,
    });
    await kill();
  }
}

function timesOf(received: readonly { id: string }[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { id } of received) times.set(id, (times.get(id) ?? 0) + 1);
  return times;
}

/** Measures a BullMQ worker that is restarted at once. */
export async function killBullmq(redis: Redis): Promise<Fates> {
  const started = performance.now();
  const provider = await startSlowProvider(answerMs);
  const environment = {
    REDIS_PORT: String(redis.port),
    PROVIDER_URL: `${provider.url}/dial`,
    QUEUE: "killed",
    CALLS: String(people),
    CONCURRENCY: String(concurrency),
    LOCK_MS: String(lockMs),
  };
  const start = () => startSide("bullmq-worker.ts", environment);
  const sides: Side[] = [];
  try {
    const keeper = await start(); // fills the queue and reads its counts; never works
    sides.push(keeper);
    await keeper.ask({ ask: "prepare" });
    const startWorker = async () => {
      const worker = await start();
      sides.push(worker);
      await worker.ask({ ask: "start" });
      return worker;
    };
    let worker = await startWorker();
    await killAgainAndAgain(provider.received, async () => {
      worker.stop();
      worker = await startWorker();
    });
    let ended = 0;
    const haveEnded = async () => {
      const { completed, failed } = await keeper.ask<{ completed: number; failed: number }>({
        ask: "counts",
      });
      ended = completed + failed;
      return ended === people;
    };
    await until(haveEnded, { hangMs: settleMsMax, everyMs: 250 });
    const times = timesOf(provider.received);
    return {
      twice: [...times.values()].filter((count) => count > 1).length,
      never: people - times.size,
      needReview: 0,
      lost: people - ended,
      seconds: (performance.now() - started) / 1000,
    };
  } finally {
    for (const side of sides) side.stop();
    await provider.close();
  }
}

/** Measures the dialers of `npm run start:aws`, which are killed all at once and restarted by their runtime. */
export async function killOurs(): Promise<Fates> {
  const started = performance.now();
  /** Number of dialers that have deliveries of the call queue at once. */
  const consumers = 2;
  const { service, servers, post, end } = await openService(
    aws,
    async () => ({ provider: await startSlowProvider(answerMs) }),
    ({ provider }) => ({
      plan: {
        agents: { "*": { provider: "webhook", url: `${provider.url}/dial` } },
        providers: { webhook: { timeoutSeconds: 2, concurrency: concurrency / consumers } },
        reviewAfterSeconds: 5,
      },
      environment: { VISIBILITY_SECONDS: String(visibilitySeconds) },
    }),
  );
  const { provider } = servers;
  try {
    await post(Array.from({ length: people }, (_, n) => callRequest(n)));
    const dialers = () => functionProcesses(service, "dialer").map(({ pid }) => pid);
    await killAgainAndAgain(provider.received, async () => {
      const dead = dialers();
      for (const pid of dead) process.kill(pid, "SIGKILL");
      const isReplaced = () => dialers().some((pid) => !dead.includes(pid));
      await until(isReplaced, { hangMs: 10_000 });
    });
    let rows = await aws.rows(service);
    const areSettled = async () => {
      rows = await aws.rows(service);
      return (
        rows.length === people &&
        rows.every(({ state }) => state === "PLACED" || state === "NEEDS_REVIEW")
      );
    };
    await until(areSettled, { hangMs: settleMsMax, everyMs: 2_000 });
    const times = timesOf(provider.received);
    const unphoned = rows.filter(({ id }) => !times.has(id));
    return {
      twice: [...times.values()].filter((count) => count > 1).length,
      never: unphoned.length,
      needReview: rows.filter(({ state }) => state === "NEEDS_REVIEW").length,
      lost: unphoned.filter(({ state, request }) => state !== "NEEDS_REVIEW" || request === null)
        .length,
      seconds: (performance.now() - started) / 1000,
    };
  } finally {
    await end("SIGKILL");
  }
}
