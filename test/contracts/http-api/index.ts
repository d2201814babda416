import { describe } from "vitest";
import { describeAccepting } from "./accepting.ts";
import { describeCallers } from "./callers.ts";
import { describeIdempotency } from "./idempotency.ts";
import { describeOtherRequests } from "./other-requests.ts";
import { describeRequests } from "./requests.ts";
import { type ApiUnderTest, useHttpApi } from "./setup.ts";

/**
 * Describes the two endpoints on any platform, under `apiEnvironment`; their headers: `describeCallHeaders`.
 *
 * @param options.hasOperator false under an environment without operators
 */
export function describeHttpApi(
  name: string,
  create: () => ApiUnderTest,
  options = { hasOperator: true },
): void {
  describe(`the API on ${name}`, () => {
    const api = useHttpApi(create);
    describeAccepting(api);
    describeCallers(api);
    describeRequests(api);
    describeOtherRequests(api, options);
    describeIdempotency(api);
  });
}
