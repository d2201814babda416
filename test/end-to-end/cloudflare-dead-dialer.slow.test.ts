import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WorkerName } from "#infra/generate/workers.ts";
import { bundleWorkers, toMiniflare } from "#infra/local/bundles.ts";
import { applyMigrations } from "#infra/local/migrations.ts";
import { apiEnvironment, testPlan, tokens } from "../support/environment.ts";
import { until } from "../support/service.ts";
import { jsonRequest } from "../support/json-request.ts";

/** A dialer that dies at each delivery, and at each tick of its crons. */
const dies = "throw new Error('out of memory');";
const dying = `export default { queue() { ${dies} }, scheduled() { ${dies} } };`;
const dyingConsumer = (queue: string) => ({
  [queue]: { maxBatchSize: 1, maxBatchTimeout: 0, maxRetries: 1, deadLetterQueue: `${queue}-dead` },
});

describe("a dialer on Workers that dies at each delivery", () => {
  let directory: string;
  let miniflare: Miniflare;
  /** Returns the options of a service whose dialer has this code, or its own. */
  let optionsFor: (dialerCode?: string) => ConstructorParameters<typeof Miniflare>[0];
  const lines: string[] = [];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "outbound-calls-"));
    const workers = await bundleWorkers();
    const worker = (name: WorkerName) => ({
      ...workers[name].options,
      ...(name === "dialer" ? { queueConsumers: {} } : {}),
      name,
      modules: toMiniflare(workers[name].modules),
      bindings: { ...apiEnvironment, DIAL_PLAN: JSON.stringify(testPlan) },
    });
    const [api, dialer] = [worker("api"), worker("dialer")];
    optionsFor = (dialerCode) =>
      convertV4MiniflareOptions({
        host: "127.0.0.1",
        cf: false,
        telemetry: { enabled: false },
        resourcePersistencePath: join(directory, "state"),
        handleStructuredLogs: ({ message }) => void lines.push(message),
        workers: [
          api,
          dialerCode === undefined
            ? dialer
            : {
                ...dialer,
                modules: [{ type: "ESModule", path: "cloudflare.js", contents: dialerCode }],
              },
          {
            name: "dying",
            modules: [{ type: "ESModule" as const, path: "dying.js", contents: dying }],
            compatibilityDate: "2026-10-30",
            queueConsumers: {
              ...dyingConsumer("outbound-calls"),
              ...dyingConsumer("outbound-calls-events"),
            },
          },
        ],
      });
    miniflare = new Miniflare(optionsFor());
    const ledger = await miniflare.getD1Database("LEDGER", "api");
    await applyMigrations(ledger, workers.migrations);
  });
  afterAll(async () => {
    await miniflare.dispose();
    await rm(directory, { recursive: true });
  });

  it("loses no call that was answered 201: the API keeps them, and a sweep hands them to a person", async () => {
    const post = async (path: string, body: object) => {
      const { status } = await miniflare.dispatchFetch(
        `http://127.0.0.1${path}`,
        jsonRequest(tokens.crm, "POST", body),
      );
      expect(status).toBe(201);
    };
    const call = (n: number) => ({ phone_number: `+1303555010${n}`, agent_id: "agent_sales" });
    await post("/v1/calls", call(1));
    await post("/v1/calls/batch", [call(2), call(3), call(4)]);
    const bucket = await miniflare.getR2Bucket("ENVELOPES", "api");
    const kept = async () => (await bucket.list({ prefix: "dead-letters/" })).objects.length;
    await until(async () => (await kept()) === 2, { everyMs: 250 });

    // Put back, they come to the same dialer, and are kept once more.
    const operate = async (path: string, init?: { method: string; body: string }) => {
      const authorization = `Bearer ${tokens.operator}`;
      const headers = { authorization, "content-type": "application/json" };
      const answer = await miniflare.dispatchFetch(
        `http://127.0.0.1/operator/dead-letters${path}`,
        {
          headers,
          ...init,
        },
      );
      expect(answer.status).toBe(200);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the route declares it
      return (await answer.json()) as { dead_letters: { name: string }[] };
    };
    const { dead_letters } = await operate("");
    for (const { name } of dead_letters) {
      await operate(`/${name}/put-back`, { method: "POST", body: "{}" });
    }
    await until(async () => (await kept()) === 2, { everyMs: 250 });

    const dialer = await miniflare.getWorker("dialer");
    await dialer.scheduled({ cron: "* * * * *" });
    const ledger = await miniflare.getD1Database("LEDGER", "api");
    const { results } = await ledger.prepare("SELECT state FROM calls").all();
    expect(results).toEqual(Array.from({ length: 4 }, () => ({ state: "NEEDS_REVIEW" })));
    expect(await kept()).toBe(0);
  });

  it("makes /readyz 503, and the API's cron raises an alarm, until the dialer lives again", async () => {
    const ready = async () =>
      (await miniflare.dispatchFetch("http://127.0.0.1/readyz")).status === 200;
    const unready = async () => !(await ready());
    const dial = async () => {
      const dialer = await miniflare.getWorker("dialer");
      await dialer.scheduled({ cron: "* * * * *" });
      // A dispatcher runs for most of a minute.
      dialer.scheduled({ cron: "*/1 * * * *" }).catch(() => undefined);
    };
    const alarms = () => lines.filter((line) => line.includes('"service.not_ready"'));
    // No dispatcher has looked yet. Probes at once share the answer of a read that another one's request has begun.
    const probes = await Promise.all(Array.from({ length: 50 }, unready));
    expect(new Set(probes)).toEqual(new Set([true]));
    await dial();
    await until(ready, { everyMs: 500 });

    await miniflare.setOptions(optionsFor(dying));
    const ledger = await miniflare.getD1Database("LEDGER", "api");
    const sixMinutes = 6 * 60_000;
    for (const field of ["fullRoundAt", "tickedAt", "beatAt"]) {
      await ledger
        .prepare(
          `UPDATE documents SET value = json_set(value, '$.${field}', value->>'${field}' - ${sixMinutes})
          WHERE value->>'${field}' IS NOT NULL`,
        )
        .run();
    }
    const dead = await miniflare.getWorker("dialer");
    await dead.scheduled({ cron: "* * * * *" }).catch(() => undefined);
    await until(unready, { everyMs: 500 });
    expect((await miniflare.dispatchFetch("http://127.0.0.1/healthz")).status).toBe(200);

    await miniflare.setOptions(optionsFor(dying)); // another process of the API, which nobody probes
    const before = alarms().length;
    const api = await miniflare.getWorker("api");
    await api.scheduled({ cron: "*/3 * * * *" });
    await api.scheduled({ cron: "*/3 * * * *" });
    await until(async () => alarms().length > before, { everyMs: 100 });
    expect(alarms().slice(before)).toEqual([
      expect.stringContaining("no dispatcher has looked for five minutes"),
    ]);

    await miniflare.setOptions(optionsFor());
    await dial();
    await until(ready, { everyMs: 500 });
  });
});
