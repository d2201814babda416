/** The quick tier: `npm test`. docs/contributing.md tells what it holds, and what `.config/vitest.slow.config.ts` holds. */
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { NotRunReporter } from "./not-run-reporter.ts";
import { laterSuffixes } from "./tiers.ts";
import {
  common,
  hangMs,
  inWorkerd,
  keepCompiled,
  limits,
  native,
  patientLimits,
  root,
  workerdSetup,
} from "./vitest.shared.ts";

const quick = {
  ...limits(hangMs),
  provide: { tier: "quick" as const },
  exclude: laterSuffixes.map((suffix) => `**/*${suffix}`),
};

const ofRepository = "test/unit/repository/*.test.ts";

export default defineConfig({
  root,
  test: {
    ...common,
    // Each worker loads the modules once more: a third one costs more than it brings.
    maxWorkers: availableParallelism(),
    reporters: ["default", new NotRunReporter()],
    projects: [
      {
        root,
        test: {
          ...quick,
          ...native,
          name: "unit",
          // A worker keeps its modules from file to file: to load them anew for each took a third of the time.
          isolate: false,
          setupFiles: ["test/support/end-left-work.ts"],
          include: ["test/unit/**/*.test.ts", "test/simulation/*.test.ts"],
          exclude: [...quick.exclude, ofRepository],
        },
      },
      {
        root,
        // What is said of the code, not what it does: `npm run lint` runs it.
        test: { ...quick, ...native, name: "repository", isolate: false, include: [ofRepository] },
      },
      {
        ...inWorkerd,
        test: {
          ...quick,
          name: "cloudflare",
          isolate: false,
          include: ["test/cloudflare/**/*.test.ts"],
          setupFiles: workerdSetup,
        },
      },
      {
        root,
        test: {
          ...quick,
          ...native,
          name: "aws",
          isolate: false,
          setupFiles: patientLimits,
          include: ["test/aws/**/*.test.ts"],
        },
      },
      {
        root,
        test: {
          ...quick,
          ...native,
          name: "quickstart",
          setupFiles: keepCompiled,
          include: ["test/end-to-end/quickstart.test.ts"],
        },
      },
    ],
  },
});
