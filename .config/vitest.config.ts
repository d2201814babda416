import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";
import { apiEnvironment } from "../test/support/environment.ts";

const root = resolve(import.meta.dirname, "..");

/** Files that take longest, by name: one that begins last leaves a core idle. Their contracts make them small files. */
const longest =
  /-(drill|hours|refusals|kills|events|processes)\.test|\/(aws|cloudflare|schedules)\.test|\/http-api\.test/;

class LongestFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer["sort"]>[0]) {
    const isLong = (file: (typeof files)[number]) => longest.test(file.moduleId);
    // oxlint-disable-next-line unicorn/no-array-sort -- not of an array
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...byProject.values()].flatMap((all) => [
      ...all.filter(isLong),
      ...all.filter((file) => !isLong(file)),
    ]);
  }
}

export default defineConfig({
  root,
  test: {
    silent: "passed-only",
    // Vitest would leave a core idle, and some tests wait for time limits.
    maxWorkers: availableParallelism() + 1,
    globalSetup: `${root}/test/support/build.ts`,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        root,
        test: {
          name: "unit",
          // A worker keeps its modules from file to file: to load them anew for each took a third of the time.
          isolate: false,
          setupFiles: ["test/support/end-left-work.ts"],
          include: ["test/unit/**/*.test.ts", "test/simulation/*.test.ts"],
          // The heaviest take some seconds, and more where the machine is busy.
          testTimeout: 20_000,
        },
      },
      {
        root,
        test: {
          name: "simulation",
          // Those of schedules take two minutes of a core: `npm run test:schedules` runs them.
          include: [
            `test/simulation/long/${process.env["SCHEDULES"] === "all" ? "*" : "!(schedules*)"}.test.ts`,
          ],
        },
      },
      {
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
              },
              ratelimits: { TEST_LIMIT: { namespace_id: "1", simple: { limit: 3, period: 60 } } },
              bindings: {
                ...apiEnvironment,
                TEST_MIGRATIONS: await readD1Migrations(`${root}/infra/d1`),
              },
            },
          })),
        ],
        test: {
          name: "cloudflare",
          include: ["test/cloudflare/**/*.test.ts"],
          setupFiles: ["test/cloudflare/setup.ts"],
        },
      },
      {
        root,
        test: { name: "aws", include: ["test/aws/**/*.test.ts"], testTimeout: 30_000 },
      },
      {
        root,
        test: { name: "upgrade", include: ["test/upgrade/*.test.ts"], hookTimeout: 60_000 },
      },
      // One worker a platform; the second after the first, as services that are busy disturb one another's time.
      ...[
        {
          name: "first-run",
          include: ["test/end-to-end/{*-first-run,quickstart,clean-clone}.test.ts"],
        },
        // Six workers more, as most of these tests wait: for calling hours, for killed receivers, for refusals.
        {
          name: "end-to-end",
          include: [
            "test/end-to-end/{aws,cloudflare,checks,operator-page,docs-page,python-receiver,console-*,*-hours,*-events,*-kills,*-dialer,*-processes,*-refusals,*-results,*-retries,*-drill}.test.ts",
          ],
          maxWorkers: 8,
        },
        // Their bounds are times of a clock, and other work on these cores may spoil one try. What must never be, such as
        // a call dialed twice, is asserted after all tries.
        { name: "pace", include: ["test/end-to-end/*-pace.test.ts"], retry: 1 },
        { name: "trouble", include: ["test/end-to-end/*-trouble.test.ts"], retry: 1 },
      ].map(({ name, include, maxWorkers = 2, retry = 0 }, index) => ({
        root,
        test: {
          name,
          include,
          isolate: false,
          setupFiles: ["test/support/short-connections.ts"],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          maxWorkers,
          retry,
          sequence: { groupOrder: index + 1 },
        },
      })),
    ],
  },
});
