import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_splitSqlQuery as splitSqlQuery } from "wrangler";
import { createD1Documents } from "#shared/cloudflare/d1-documents.ts";
import { createD1Ledger } from "#shared/cloudflare/d1-ledger.ts";
import { createCloudflareQueue, toCloudflareDelivery } from "#shared/cloudflare/queue.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { EventMessage } from "#shared/ports/event-messages.ts";
import type { Message as CallMessage } from "#shared/ports/call-messages.ts";
import { type Meter, type Sent, takeReady, unitsOf } from "./meter.ts";
import { type Clock, type CountedPlatform, type CountedQueue, createClock } from "./service.ts";

/** Runs the statements of one round trip in workerd, beside the database. */
const script = `export default {
  async fetch(request, env) {
    const { isBatch, statements } = await request.json();
    const bound = statements.map(({ sql, values }) => env.LEDGER.prepare(sql).bind(...values));
    try {
      return Response.json(isBatch ? await env.LEDGER.batch(bound) : [await bound[0].all()]);
    } catch (error) {
      return Response.json({ error: String(error) }, { status: 500 });
    }
  },
};`;

interface Statement {
  sql: string;
  values: unknown[];
}

export interface CountedCloudflare extends CountedPlatform {
  database: D1Database;
  /** Process id of workerd, which runs the database and hardly anything else. */
  pid: number;
}

/**
 * Starts Miniflare's D1, Queues and R2 in workerd; a round trip to D1 is one request. Counts d1Queries (round
 * trips), d1RowsRead, d1RowsWritten, queueSends, queueOperations (each 64 KB written, read and deleted),
 * r2Writes, r2Reads and dialerInvocations.
 */
export async function startCloudflare(meter: Meter): Promise<CountedCloudflare> {
  const others = await workerdPids();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: 0,
      cf: false,
      log: new Log(LogLevel.ERROR),
      telemetry: { enabled: false },
      modules: true,
      script,
      compatibilityDate: "2026-10-30",
      d1Databases: ["LEDGER"],
      r2Buckets: ["ENVELOPES"],
      queueProducers: { CALLS: "calls", EVENTS: "events" },
    }),
  );
  const address = await miniflare.ready;
  const rawBucket = await miniflare.getR2Bucket("ENVELOPES");

  let sizeBytes = 0;
  async function ask<Row>(statements: Statement[], isBatch: boolean): Promise<D1Result<Row>[]> {
    const body = JSON.stringify({ isBatch, statements });
    const response = await fetch(address, { method: "POST", body });
    const answer: D1Result<Row>[] | { error: string } = JSON.parse(await response.text());
    if (!Array.isArray(answer)) throw new Error(answer.error);
    meter.add("d1Queries");
    for (const { meta } of answer) {
      sizeBytes = meta.size_after;
      meter.add("d1RowsRead", meta.rows_read);
      meter.add("d1RowsWritten", meta.rows_written);
    }
    return answer;
  }
  const prepared = (sql: string, values: unknown[] = []) => {
    const all = async <Row>() => {
      const [result] = await ask<Row>([{ sql, values }], false);
      if (result === undefined) throw new Error("D1 answered nothing");
      return result;
    };
    return {
      sql,
      values,
      bind: (...bound: unknown[]) => prepared(sql, bound),
      all,
      run: all,
      first: async <Row>() => (await all<Row>()).results[0] ?? null,
    };
  };
  const reached = {
    prepare: (sql: string) => prepared(sql),
    batch: <Row>(statements: Statement[]) =>
      ask<Row>(
        statements.map(({ sql, values }) => ({ sql, values })),
        true,
      ),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the methods that are called
  const database = reached as unknown as D1Database;

  const bucket = {
    async put(key: string, value: string) {
      meter.add("r2Writes");
      return rawBucket.put(key, value);
    },
    async get(key: string) {
      meter.add("r2Reads");
      const object = await rawBucket.get(key);
      return object === null ? null : { text: () => object.text() };
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the methods that are called
  const envelopes = bucket as unknown as R2Bucket;
  const clock = createClock();
  const queueOf = async <Body>(binding: string) =>
    countedQueue<Body>(await miniflare.getQueueProducer(binding), envelopes, clock, meter);

  const migrations = join(import.meta.dirname, "../../infra/d1");
  const files = (await readdir(migrations)).filter((name) => name.endsWith(".sql"));
  for (const file of files.toSorted()) {
    const statements = splitSqlQuery(await readFile(join(migrations, file), "utf8"));
    await database.batch(statements.map((sql) => database.prepare(sql)));
  }
  meter.take();
  const pid = (await workerdPids()).find((one) => !others.includes(one));
  if (pid === undefined) throw new Error("workerd does not run");
  return {
    name: "Cloudflare",
    deliverySize: 1, // as in functions/dialer/wrangler.toml
    concurrency: 5, // as in functions/dialer/cloudflare.ts
    consumers: 50,
    dispatcher: { lifeMs: 50_000, headsPerLook: 5_000, endsIdle: false },
    clock,
    database,
    pid,
    ledger: createD1Ledger(database),
    documents: createD1Documents(database, { now: clock.now, freshVersion: randomVersion }),
    stored: () => ({ all: sizeBytes, table: sizeBytes }),
    ...(await queueOf<CallMessage>("CALLS")),
    events: await queueOf<EventMessage>("EVENTS"),
    stop: () => miniflare.dispose(),
  };
}

/** Returns a queue whose messages are kept here beside the engine, with their operations counted. */
function countedQueue<Body>(
  producer: Pick<Queue, "send" | "sendBatch">,
  envelopes: R2Bucket,
  clock: Clock,
  meter: Meter,
): CountedQueue<Body> {
  const waiting: Sent[] = [];
  let delivered = 0;
  const keep = (all: MessageSendRequest[]) => {
    meter.add("queueSends");
    for (const { body, delaySeconds = 0 } of all) {
      const text = String(body);
      waiting.push({ body: text, readyAt: clock.now() + delaySeconds * 1000 });
      meter.add("queueOperations", unitsOf(Buffer.byteLength(text)));
    }
  };
  const counted = {
    async send(body: unknown, options: QueueSendOptions = {}) {
      await producer.send(body, options);
      keep([{ body, ...options }]);
    },
    async sendBatch(messages: Iterable<MessageSendRequest>) {
      const all = [...messages];
      await producer.sendBatch(all);
      keep(all);
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the methods that are called
  const queue = counted as unknown as Queue;
  return {
    queue: createCloudflareQueue<Body>(queue, envelopes),
    waiting: () => waiting.length,
    nextAt: () => Math.min(...waiting.map(({ readyAt }) => readyAt)),
    deliver(count, readyBy = Infinity) {
      const taken = takeReady(waiting, count, readyBy);
      meter.add("dialerInvocations");
      for (const { body } of taken) {
        meter.add("queueOperations", 2 * unitsOf(Buffer.byteLength(body)));
      }
      return taken.map(({ body }) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the fields that are read
        const message = { body, attempts: 1, id: `message-${++delivered}` } as Message;
        return toCloudflareDelivery(message, envelopes);
      });
    },
  };
}

/** Returns the ids of the workerd processes that this process has started. Linux only. */
export async function workerdPids(): Promise<number[]> {
  const children = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, "utf8");
  const pids: number[] = [];
  for (const child of children.trim().split(" ")) {
    const name = await readFile(`/proc/${child}/comm`, "utf8").catch(() => "");
    if (name.trim() === "workerd") pids.push(Number(child));
  }
  return pids;
}
