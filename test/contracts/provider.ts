import { describe } from "vitest";
import { describeAnswers } from "./provider-answers.ts";
import { createProviderBench, type ProviderUnderTest } from "./provider-bench.ts";
import { describeLookUps } from "./provider-look-ups.ts";
import { describeNotPlaced } from "./provider-not-placed.ts";
import { describeRequests } from "./provider-requests.ts";
import { describeResults } from "./provider-results.ts";

export { sought } from "./provider-bench.ts";

/** Describes the behaviour of every provider adapter. */
export function describeProvider(provider: ProviderUnderTest): void {
  const bench = createProviderBench(provider);
  describe(`${provider.title ?? provider.type} as a dialing provider`, () => {
    describeRequests(bench);
    describeAnswers(bench);
    describeNotPlaced(bench);
    if (provider.lookUps !== undefined) describeLookUps(bench, provider.lookUps);
    if (provider.results !== undefined) describeResults(bench, provider.results);
  });
}
