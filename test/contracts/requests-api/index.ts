import { describe } from "vitest";
import type { OperatorApiUnderTest } from "../operator-api/setup.ts";
import { itCancelsBesideOperators, itCancelsRequests } from "./cancelling.ts";
import { itKeepsRequestsToTheirClient } from "./callers.ts";
import { itAddsOptOuts } from "./opt-outs.ts";
import { itManagesReceivers } from "./receivers.ts";
import { useRequestsApi } from "./setup.ts";
import { itRemembersSentFiles } from "./sent-files.ts";
import { itListsRequests } from "./listing.ts";
import { itShowsCalls } from "./showing-calls.ts";
import { itShowsRequests } from "./showing.ts";

/**
 * Describes what clients may ask about their requests on any platform, under `apiEnvironment`.
 *
 * @param options.hasOperator false under an environment without operators
 */
export function describeRequestsApi(
  name: string,
  create: () => OperatorApiUnderTest,
  { hasOperator } = { hasOperator: true },
): void {
  describe(`the API of requests on ${name}`, () => {
    const api = useRequestsApi(create);
    itKeepsRequestsToTheirClient(api);
    itShowsRequests(api);
    itListsRequests(api);
    itShowsCalls(api);
    itCancelsRequests(api);
    if (hasOperator) itCancelsBesideOperators(api);
    itAddsOptOuts(api);
    itRemembersSentFiles(api);
    itManagesReceivers(api);
  });
}
