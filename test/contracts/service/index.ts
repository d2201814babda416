import { describe } from "vitest";
import type { PlatformUnderTest } from "#test/support/service.ts";
import { itServesItsLibraries } from "./libraries.ts";
import { itKeepsTheContract } from "./connections.ts";
import { itLogsNothingPersonal } from "./log.ts";
import { itObeysOperators } from "./operators.ts";
import { itHandsCallsOver } from "./outcomes.ts";
import { useService } from "./setup.ts";
import { itDialsWhenHeadersSay } from "./timing.ts";

/** The whole service as started by its own command, on any platform. */
export function describeService(platform: PlatformUnderTest): void {
  describe(`${platform.script} with a dial plan`, () => {
    const bench = useService(platform);
    itHandsCallsOver(bench);
    itDialsWhenHeadersSay(bench);
    itObeysOperators(bench);
    itKeepsTheContract(bench);
    itServesItsLibraries(bench);
    itLogsNothingPersonal(bench);
  });
}
