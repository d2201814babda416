/**
 * Measures the effect of writes that wait for others to share their round trips. Time is simulated: however
 * busy this machine is, a round trip takes its set duration.
 */
import { toCallId, createRequestId } from "#shared/calls/ids.ts";
import type * as support from "../support/dialer.ts";
import { dispatchOf, putIn } from "../support/dialer-calls.ts";
import { createAnswerTimes, makespan } from "./answers.ts";
import { requestOf } from "./service.ts";
import { numberIn } from "./source.ts";
import { importWith } from "./with-constant.ts";

/** Calls of the delivery. */
const count = 100;
/** Seeds of the provider's response times. */
const seeds = Array.from({ length: 10 }, (_, seed) => seed + 1);
/** Values of `shareMsMax` to try. */
const sharesMs = [0, 10, 25, 40, 60];
const share = { path: "functions/dialer/record/change-rows.ts", name: "shareMsMax" };

/** Requests at once in one delivery, and the assumed duration of a round trip to the ledger, in milliseconds. */
const settings = [
  { platform: "Cloudflare", concurrency: 5, tripMs: 5 },
  { platform: "Cloudflare", concurrency: 5, tripMs: 30 },
  { platform: "AWS", concurrency: 25, tripMs: 5 },
  { platform: "AWS", concurrency: 25, tripMs: 15 },
];

const mean = (numbers: readonly number[]) =>
  numbers.reduce((total, one) => total + one, 0) / numbers.length;

type Bench = ReturnType<typeof support.createDialerBench>;

/** Puts a hundred rows into the ledger, and hands them out. */
async function send(bench: Bench, requestId: string): Promise<void> {
  const calls = Array.from({ length: count }, (_, n) => ({
    id: toCallId(requestId, n),
    requestId,
    batchCalls: count,
    client: "crm",
    mode: "live" as const,
    acceptedAt: bench.now(),
    request: requestOf(n),
  }));
  for (const call of calls) await putIn(bench, "WAITING", call, { dueAt: bench.now() });
  await bench.send(dispatchOf(calls));
}

interface Taken {
  trips: number;
  ms: number;
  /** Duration of the provider's answers alone, with maximum concurrency. */
  idealMs: number;
}

/** Measures a later delivery of a process, whose provider answers each call in its own time. */
async function deliver(
  bench: Bench,
  { concurrency, tripMs }: { concurrency: number; tripMs: number },
  seed: number,
): Promise<Taken> {
  let trips = 0;
  const trip = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    trips += 1;
    await bench.sleep(tripMs);
    return work();
  };
  const { rows, documents } = bench;
  const slowDown = () => {
    bench.breakLedger({
      read: (ids) => trip(() => rows.read(ids)),
      write: (changes) => trip(() => rows.write(changes)),
    });
    bench.breakDocuments({
      read: (keys) => trip(() => documents.read(keys)),
      write: (changes) => trip(() => documents.write(changes)),
      add: (key, counters, expiresAt) => trip(() => documents.add(key, counters, expiresAt)),
    });
  };
  /** Hands a hundred rows out, which takes no time. */
  const sendAll = async (name: string) => {
    bench.repairLedger();
    await send(bench, createRequestId(bench.now(), name.repeat(32)));
    slowDown();
  };
  const answerMs: number[] = [];
  const next = createAnswerTimes(seed);
  const isMeasured = { now: false };
  bench.answer = async () => {
    if (isMeasured.now) {
      const ms = next();
      answerMs.push(ms);
      await bench.sleep(ms);
    }
    return { kind: "placed" };
  };
  // The process's first delivery knows no round trips yet.
  await sendAll("0");
  await bench.deliver();
  isMeasured.now = true;
  await sendAll("1");
  trips = 0;
  const startAt = bench.now();
  await bench.deliver();
  if (answerMs.length !== count) throw new Error("not every call was dialed");
  return { trips, ms: bench.now() - startAt, idealMs: makespan(answerMs, concurrency) };
}

/** Tries each setting with each value of `shareMsMax`, and returns rows of a table. */
export async function trySharing(): Promise<{ head: string[]; rows: string[][] }> {
  const now = await numberIn(share.path, /const shareMsMax = ([\d_]+)/);
  const rows: string[][] = [];
  for (const setting of settings) {
    const { platform, concurrency, tripMs } = setting;
    for (const value of sharesMs) {
      const bench = await importWith(
        "test/support/dialer.ts",
        { ...share, value },
        (url): Promise<typeof support> => import(url),
      );
      const all: Taken[] = [];
      for (const seed of seeds) {
        all.push(await deliver(bench.createDialerBench({ concurrency }), setting, seed));
      }
      const [ms, idealMs] = [mean(all.map((one) => one.ms)), mean(all.map((one) => one.idealMs))];
      rows.push([
        `${platform}, ${concurrency} at once, a round trip of ${tripMs} ms`,
        `${value}${value === now ? " (now)" : ""}`,
        mean(all.map(({ trips }) => trips)).toFixed(0),
        ms.toFixed(0),
        idealMs.toFixed(0),
        `${(ms / idealMs).toFixed(2)} ×`,
      ]);
    }
  }
  return { head: ["", "waits for, ms", "round trips", "takes, ms", "ideal, ms", ""], rows };
}
