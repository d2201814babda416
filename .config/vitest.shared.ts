import { resolve } from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { BaseSequencer } from "vitest/node";
import { apiEnvironment } from "../test/support/environment.ts";

export const root = resolve(import.meta.dirname, "..");

/** A guard against tests that hang, in milliseconds. It judges no speed: a busy machine takes as long as it likes. */
export const hangMs = 120_000;
/** The same for tests of the whole service, some of which wait for real minutes. */
export const serviceHangMs = 900_000;

/**
 * Has Node itself load the modules: it strips the types, where Vite rewrites each import. A run takes a quarter less CPU.
 * Tests that mock modules would need Vite's runner; none does.
 */
export const native = { experimental: { viteModuleRunner: false, nodeLoader: false } };

/** Seconds that files take on a busy machine; the others: `usualSeconds`. Their contracts make them small files. */
const expectedSeconds: readonly (readonly [RegExp, number])[] = [
  [/-drill\./, 900],
  [/slow-collectors/, 260],
  [/end-to-end\/(aws|cloudflare)(-hours)?\./, 170],
  [/end-to-end\/.*-(events|kills|processes|review)\.|stand-ins\/adapters/, 100],
  [/end-to-end\/.*-(page|refusals|states|tasks|trouble)\./, 60],
  [/deploy\/cloudflare-first\.|\/upgrade\.|long\/(promises|simulation)\./, 60],
  [
    /-first(-run)?\.|client-faults|console-|dead-dialer|dynamodb-ledger|http-api-more|-programs/,
    40,
  ],
  [/end-to-end\/|http-api|\/(audit|help|livekit|short|stopped-process|trouble|webhook)\./, 20],
];
const usualSeconds = 5;

/** Files whose tests wait for most of their time, while those of the others compute. */
const waiting = /end-to-end|stand-ins\/adapters|stopped-process|providers\/(livekit|webhook)\./;
/** Share of the workers that are meant for the former. */
const waitingShare = 0.6;

type Files = Parameters<BaseSequencer["sort"]>[0];

/**
 * Begins with the files that take longest, as one that begins last leaves a core idle, and has files that wait run beside
 * files that compute: each kind in the order in which its share of the workers would begin them.
 */
class Interleaved extends BaseSequencer {
  override async sort(files: Files) {
    const isWaiting = ({ moduleId }: Files[number]) => waiting.test(moduleId);
    const workers = this.ctx.config.maxWorkers;
    const share = Math.min(workers, Math.ceil(workers * waitingShare));
    // oxlint-disable-next-line unicorn/no-array-sort -- not of an array
    const all = await super.sort(files);
    return [
      ...plan(all.filter(isWaiting), share),
      ...plan(
        all.filter((file) => !isWaiting(file)),
        Math.max(1, workers - share),
      ),
    ]
      .toSorted((one, other) => one.beginsAt - other.beginsAt)
      .map(({ file }) => file);
  }
}

/** Plans when so many workers begin each file. Files of a project stay together, as a worker keeps its modules for the next. */
function plan(files: Files, workers: number): { file: Files[number]; beginsAt: number }[] {
  const freeAt = Array.from({ length: workers }, () => 0);
  const byProject = Map.groupBy(files, ({ project }) => project.name);
  const smallFirst = [...byProject.values()].toSorted((one, other) => one.length - other.length);
  return smallFirst.flatMap((ofProject) =>
    ofProject
      .map((file) => ({ file, seconds: secondsOf(file) }))
      .toSorted((one, other) => other.seconds - one.seconds)
      .map(({ file, seconds }) => {
        const beginsAt = Math.min(...freeAt);
        freeAt[freeAt.indexOf(beginsAt)] = beginsAt + seconds;
        return { file, beginsAt };
      }),
  );
}

function secondsOf({ moduleId }: Files[number]): number {
  return expectedSeconds.find(([pattern]) => pattern.test(moduleId))?.[1] ?? usualSeconds;
}

/** A project's limits, none of which judges speed. */
export const limits = (ms: number) => ({
  testTimeout: ms,
  hookTimeout: ms,
  expect: { poll: { timeout: hangMs } },
});

/** Setup of the tests that start processes. */
export const keepCompiled = "test/support/keep-compiled.ts";
/** Setup of the tests that start a function in their own process, with the limits that it has as deployed. */
export const patientLimits = "test/support/patient-limits.ts";

/** What both tiers have in common. */
export const common = {
  silent: "passed-only" as const,
  globalSetup: `${root}/test/support/build.ts`,
  sequence: { sequencer: Interleaved },
};

/** Tests in workerd, beside its D1, Queues and R2. */
export const inWorkerd = {
  root,
  plugins: [
    cloudflareTest(async () => ({
      main: "test/cloudflare/worker.ts",
      wrangler: { configPath: "wrangler.toml" },
      miniflare: {
        // The queues' deliveries come to the test's own Worker, which keeps them for the tests to see.
        queueConsumers: {
          "outbound-calls": { maxBatchTimeout: 0 },
          "outbound-calls-events": { maxBatchTimeout: 0 },
          idle: { maxBatchTimeout: 60 },
        },
        queueProducers: { IDLE: { queueName: "idle" } },
        ratelimits: { TEST_LIMIT: { namespace_id: "1", simple: { limit: 3, period: 60 } } },
        bindings: {
          ...apiEnvironment,
          TEST_MIGRATIONS: await readD1Migrations(`${root}/infra/d1`),
        },
      },
    })),
  ],
};
export const workerdSetup = ["test/cloudflare/setup.ts"];
