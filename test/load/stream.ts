import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const repeatAfterMs = 500;
/** API Gateway's own limit: after it a client gets no useful answer. */
const answerMsMax = 30_000;

/** Load to be posted, and its rates. */
export interface StreamOptions {
  /** Returns the current address of the service, which a restart changes. */
  address(): string;
  token: string;
  /** Single calls per second. */
  rate: number;
  batchEverySeconds: number;
  /** Range of a batch's number of calls, evenly distributed. */
  batchCalls: { least: number; most: number };
}

/** Interval of batches for the agent `busy`, beginning with the first batch. */
const busyEvery = 3;

/** A request that was answered 201. */
export interface AcceptedRequest {
  /** Number in its calls' labels: `NUMBER-INDEX`. */
  number: number;
  count: number;
  /** The service's id of the request. */
  requestId: string;
  /** Milliseconds from the due time to the 201, including all repetitions. */
  ms: number;
  /** Number of attempts that were cut off or answered 5XX, before the one answered 201. */
  unreachable: number;
}

export interface Stream {
  accepted: AcceptedRequest[];
  /** Statuses and bodies of answers that forbid repetition. */
  refused: string[];
  /** Number of requests due so far. */
  posted(): number;
  /** Stops posting, and resolves once all posted requests are answered. */
  pause(): Promise<void>;
  resume(): void;
  /** Like `pause`, for good. */
  stop(): Promise<void>;
}

/**
 * Posts single calls and batches at fixed times, however slow the answers are (an open loop). A service that
 * stands still delays everything that falls due meanwhile, and latency is measured from the due time.
 * Unanswered requests are repeated under their Idempotency-Key until they are answered.
 *
 * Each call's context holds the label by which it is known here.
 */
export function startStream(options: StreamOptions): Stream {
  const { address, token, rate, batchEverySeconds, batchCalls } = options;
  const run = randomUUID();
  const accepted: AcceptedRequest[] = [];
  const refused: string[] = [];
  const underWay = new Set<Promise<void>>();
  let posted = 0;
  let calls = 0;
  let batches = 0;
  const stopping = new AbortController();
  let paused: { until: Promise<void>; end(): void } | undefined;

  const callOf = (number: number, index: number, agent: string) => ({
    phone_number: `+1303555${String(calls++ % 10_000).padStart(4, "0")}`,
    agent_id: agent,
    context: { n: `${number}-${index}` },
  });

  /** Resolves once the request is answered 201, or refused. */
  async function post(path: string, number: number, body: object, dueAt: number): Promise<void> {
    const count = Array.isArray(body) ? body.length : 1;
    const text = JSON.stringify(body);
    for (let unreachable = 0; ; unreachable++) {
      const response = await fetch(`${address()}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "idempotency-key": `${run}-${number}`,
        },
        body: text,
        signal: AbortSignal.timeout(answerMsMax),
      }).catch(() => undefined);
      const said = await response?.text().catch(() => undefined);
      if (response?.status === 201) {
        const requestId = response.headers.get("x-request-id") ?? "";
        accepted.push({ number, count, requestId, ms: performance.now() - dueAt, unreachable });
        return;
      }
      if (response !== undefined && response.status < 500) {
        refused.push(`${response.status} ${said ?? ""}`);
        return;
      }
      await sleep(repeatAfterMs);
    }
  }

  function begin(path: string, body: (number: number) => object, dueAt: number): void {
    const number = posted++;
    const ended = post(path, number, body(number), dueAt).finally(() => underWay.delete(ended));
    underWay.add(ended);
  }

  /** Waits, and ends early if the stream is stopped. */
  const pass = (ms: number) =>
    sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  async function every(seconds: number, work: (dueAt: number) => void): Promise<void> {
    let dueAt = performance.now() + Math.random() * seconds * 1000;
    while (!stopping.signal.aborted) {
      await pass(Math.max(0, dueAt - performance.now()));
      if (paused !== undefined) {
        await paused.until;
        dueAt = performance.now();
      }
      if (stopping.signal.aborted) return;
      work(dueAt);
      dueAt += seconds * 1000;
    }
  }

  const clocks = [
    every(1 / rate, (dueAt) => begin("/v1/calls", (number) => callOf(number, 0, "single"), dueAt)),
    every(batchEverySeconds, (dueAt) => {
      const agent = batches++ % busyEvery === 0 ? "busy" : "batch";
      const length = randomInt(batchCalls.least, batchCalls.most + 1);
      const body = (number: number) =>
        Array.from({ length }, (_, index) => callOf(number, index, agent));
      begin("/v1/calls/batch", body, dueAt);
    }),
  ];
  const resume = () => {
    paused?.end();
    paused = undefined;
  };
  const answered = async () => {
    while (underWay.size > 0) await Promise.all(underWay);
  };
  return {
    accepted,
    refused,
    posted: () => posted,
    async pause() {
      const { promise: until, resolve: end } = Promise.withResolvers<void>();
      paused = { until, end };
      await answered();
    },
    resume,
    async stop() {
      stopping.abort();
      resume();
      await Promise.all(clocks);
      await answered();
    },
  };
}
