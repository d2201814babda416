/**
 * A BullMQ worker that posts each job's body, signed, to a dialing provider, with the defaults of BullMQ.
 * Environment: REDIS_PORT, QUEUE (its name), PROVIDER_URL, CALLS (jobs per round), CONCURRENCY, CONNECTION
 * (`close`: one for each request), and LOCK_MS, which shortens the locks of a dead worker's jobs and the
 * interval of the search for them.
 */
import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { Queue, Worker } from "bullmq";
import { callRequest } from "./payload.ts";
import { answer, ready } from "./side.ts";

const {
  REDIS_PORT,
  PROVIDER_URL = "",
  QUEUE = "calls",
  CALLS,
  CONCURRENCY,
  CONNECTION,
  LOCK_MS,
} = process.env;
const calls = Number(CALLS);
const connection = {
  host: "127.0.0.1",
  port: Number(REDIS_PORT),
  maxRetriesPerRequest: null,
};
const key = createSecretKey(randomBytes(32));
/** Returns headers signed by the Standard Webhooks specification, like ours. */
function headersOf(id: string, body: string) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "content-type": "application/json",
    "user-agent": "bullmq-worker",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
    ...(CONNECTION === "close" ? { connection: "close" } : {}),
  };
}
const lock =
  LOCK_MS === undefined ? {} : { lockDuration: Number(LOCK_MS), stalledInterval: Number(LOCK_MS) };

const queue = new Queue(QUEUE, { connection });
const worker = new Worker(
  QUEUE,
  async ({ data }) => {
    const text = JSON.stringify(data);
    const response = await fetch(PROVIDER_URL, {
      method: "POST",
      headers: headersOf(data.id, text),
      body: text,
      redirect: "manual",
      signal: AbortSignal.timeout(30_000),
    });
    if (!response.ok) throw new Error(`the provider answered ${response.status}`);
    return Object(await response.json()).id;
  },
  { connection, concurrency: Number(CONCURRENCY), autorun: false, ...lock },
);
let left = 0;
let allEnded: (() => void) | undefined;
const ended = () => {
  left -= 1;
  if (left === 0) allEnded?.();
};
worker.on("completed", ended);
worker.on("failed", (_job, error) => {
  console.error("a job of BullMQ's failed:", error.message);
  ended();
});
worker.on("error", (error) => console.error(error));

let made = 0;
/** Returns the body that our webhook has for the same call. */
function bodyOfNext() {
  const { phone_number, agent_id, context, timezone } = callRequest(made++);
  const [id, request_id] = [`call_${randomBytes(16).toString("hex")}`, "req_bench"];
  const accepted_at = new Date().toISOString();
  return { id, request_id, phone_number, agent_id, context, timezone, accepted_at };
}

function run(): void {
  worker.run().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}

answer({
  /** Puts a round's jobs onto the queue. */
  async prepare() {
    await queue.addBulk(
      Array.from({ length: calls }, () => ({ name: "call", data: bodyOfNext() })),
    );
  },
  /** Processes a round's jobs, then pauses. */
  async dial() {
    left = calls;
    const { promise, resolve } = Promise.withResolvers<void>();
    allEnded = resolve;
    const [cpu, start] = [process.cpuUsage(), performance.now()];
    if (worker.isPaused()) await worker.resume();
    else run();
    await promise;
    const { user, system } = process.cpuUsage(cpu);
    return { cpuUs: user + system, ms: performance.now() - start };
  },
  async rest() {
    await worker.pause();
  },
  /** Processes jobs without end. */
  async start() {
    run();
  },
  /** Number of jobs by state. */
  counts: () => queue.getJobCounts(),
});
await worker.waitUntilReady();
ready();
