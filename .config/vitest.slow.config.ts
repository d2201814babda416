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
  root,
  serviceHangMs,
  workerdSetup,
} from "./vitest.shared.ts";

const slow = { ...limits(hangMs * 5), provide: { tier: "slow" as const } };

export default defineConfig({
  root,
  test: {
    ...common,
    // Most tests of the whole service wait: for calling hours, for killed receivers, for refusals. Others compute beside them.
    maxWorkers: 3 * availableParallelism(),
    projects: [
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "unit",
          isolate: false,
          setupFiles: ["test/support/end-left-work.ts", keepCompiled],
          include: [...slowFiles("test/unit"), ...slowFiles("test/simulation")],
        },
      },
      {
        ...inWorkerd,
        test: {
          ...slow,
          name: "cloudflare",
          include: slowFiles("test/cloudflare"),
          setupFiles: workerdSetup,
        },
      },
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "aws",
          include: slowFiles("test/aws"),
        },
      },
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "aws on dynalite",
          isolate: false,
          include: ["test/aws/{dynamodb,engine}-*.test.ts"],
          // A second opinion on what DynamoDB does: the few runs of the quick tier are enough.
          provide: { tier: "quick", dynamoEngine: "dynalite" },
        },
      },
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "upgrade",
          include: slowFiles("test/upgrade"),
          setupFiles: keepCompiled,
        },
      },
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "end-to-end",
          include: slowFiles("test/end-to-end"),
          globalSetup: `${root}/test/support/bundle.ts`,
          isolate: false,
          setupFiles: ["test/support/short-connections.ts", keepCompiled],
          ...limits(serviceHangMs),
        },
      },
    ],
  },
});
