import type { Reporter } from "vitest/reporters";

/** Prints what the quick tier has left out, and the commands for that. */
export class NotRunReporter implements Reporter {
  onTestRunEnd(): void {
    console.log(`Not run: format, lint and types (npm run lint); the whole service, kills, a browser, CDK, many runs of the
same properties (npm run test:slow); load, long simulations, mutants (npm run test:long).`);
  }
}
