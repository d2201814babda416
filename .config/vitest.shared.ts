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

/** Files that take longest, the longest first: one that begins last leaves a core idle. Their contracts make them small files. */
const longest = [
  /-drill\./,
  /-processes\.|-hours\./,
  /\/(aws|cloudflare)\.slow\./,
  /-(kills|trouble|refusals|tasks)\.|python-receiver/,
  /-(events|views|review|states)\.|-first-run\./,
  /\/(simulation|promises|upgrade|quickstart|short)\.|\/http-api|-ledger\./,
];

class LongestFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer["sort"]>[0]) {
    const rankOf = ({ moduleId }: (typeof files)[number]) => {
      const rank = longest.findIndex((pattern) => pattern.test(moduleId));
      return rank < 0 ? longest.length : rank;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- not of an array
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...byProject.values()].flatMap((all) =>
      all.toSorted((one, other) => rankOf(one) - rankOf(other)),
    );
  }
}

/** A project's limits, none of which judges speed. */
export const limits = (ms: number) => ({
  testTimeout: ms,
  hookTimeout: ms,
  expect: { poll: { timeout: hangMs } },
});

/** Setup of the tests that start processes. */
export const keepCompiled = "test/support/keep-compiled.ts";

/** What both tiers have in common. */
export const common = {
  silent: "passed-only" as const,
  globalSetup: `${root}/test/support/build.ts`,
  sequence: { sequencer: LongestFirst },
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
        },
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
