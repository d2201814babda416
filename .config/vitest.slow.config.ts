/**
 * The slow tier: `npm run test:slow`. It holds what takes long, what needs CDK, a browser or other packages, and what the
 * quick tier runs with fewer repetitions. No test is judged by its time: those of pace and trouble count requests.
 */
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { slowFiles } from "./tiers.ts";
import {
  common,
  hangMs,
  inWorkerd,
  keepCompiled,
  limits,
  native,
  patientLimits,
  root,
  serviceHangMs,
  workerdSetup,
} from "./vitest.shared.ts";

const slow = { ...limits(hangMs * 5), provide: { tier: "slow" as const } };

/** Files that start a function's module, which keeps what it read from the environment: each has modules of its own. */
const startedInAFile = slowFiles("test/aws").filter((file) => /http-api|dialer-lambda/.test(file));

/** A second opinion on what DynamoDB does: the few runs of the quick tier are enough. */
const onDynalite = {
  root,
  test: {
    ...slow,
    ...native,
    name: "aws on dynalite",
    isolate: false,
    setupFiles: patientLimits,
    include: ["test/aws/{dynamodb,engine}-*.test.ts"],
    provide: { tier: "quick" as const, dynamoEngine: "dynalite" as const },
  },
};

export default defineConfig({
  root,
  test: {
    ...common,
    // Most tests of the whole service wait: for calling hours, for killed receivers, for refusals. Others compute beside them.
    maxWorkers: 4 * availableParallelism(),
    projects: [
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "node",
          // A worker keeps its modules from file to file, whatever the files are about: another project would need another one.
          isolate: false,
          globalSetup: `${root}/test/support/bundle.ts`,
          setupFiles: [
            "test/support/end-left-work.ts",
            "test/support/short-connections.ts",
            keepCompiled,
          ],
          include: ["unit", "simulation", "upgrade", "end-to-end"].flatMap((folder) =>
            slowFiles(`test/${folder}`),
          ),
          ...limits(serviceHangMs),
        },
      },
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "aws",
          isolate: false,
          setupFiles: ["test/support/end-left-work.ts", patientLimits],
          include: slowFiles("test/aws").filter((file) => !startedInAFile.includes(file)),
          ...limits(serviceHangMs),
        },
      },
      {
        ...inWorkerd,
        test: {
          ...slow,
          name: "cloudflare",
          isolate: false,
          include: slowFiles("test/cloudflare"),
          setupFiles: workerdSetup,
        },
      },
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "functions",
          include: startedInAFile,
          setupFiles: patientLimits,
        },
      },
      ...(process.env["LONG"] === "1" ? [onDynalite] : []),
    ],
  },
});
