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
    // Vitest would leave a core idle, and some tests wait.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        root,
        test: {
          ...slow,
          ...native,
          name: "unit",
          isolate: false,
          setupFiles: ["test/support/end-left-work.ts"],
          include: [...slowFiles("test/unit"), ...slowFiles("test/simulation")],
          // Those of schedules take two minutes of a core: `npm run test:schedules` runs them.
          exclude: process.env["SCHEDULES"] === "all" ? [] : ["**/schedules*"],
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
        test: { ...slow, ...native, name: "aws", include: slowFiles("test/aws") },
      },
      {
        root,
        test: { ...slow, ...native, name: "upgrade", include: slowFiles("test/upgrade") },
      },
      // Apart from each other, as services that are busy disturb one another's time.
      ...[
        // Six workers more, as most of these tests wait: for calling hours, for killed receivers, for refusals.
        { name: "end-to-end", exclude: ["**/*-{pace,trouble}.slow.test.ts"], maxWorkers: 8 },
        { name: "timed", include: ["test/end-to-end/*-{pace,trouble}.slow.test.ts"] },
      ].map(({ name, include, exclude = [], maxWorkers = 2 }, index) => ({
        root,
        test: {
          ...slow,
          ...native,
          name,
          include: include ?? slowFiles("test/end-to-end"),
          exclude,
          isolate: false,
          setupFiles: ["test/support/short-connections.ts"],
          ...limits(serviceHangMs),
          maxWorkers,
          sequence: { groupOrder: index + 1 },
        },
      })),
    ],
  },
});
