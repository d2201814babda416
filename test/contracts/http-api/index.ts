import { describe } from "vitest";
import { describeAccepting } from "./accepting.ts";
import { describeCallHeaders } from "./call-headers.ts";
import { describeCallers } from "./callers.ts";
import { describeIdempotency } from "./idempotency.ts";
import { describeOtherRequests } from "./other-requests.ts";
import { describeRequests } from "./requests.ts";
import { type ApiUnderTest, useHttpApi } from "./setup.ts";

/** Describes the two endpoints on any platform, under `apiEnvironment`. */
export function describeHttpApi(name: string, create: () => ApiUnderTest): void {
  describe(`the API on ${name}`, () => {
    const api = useHttpApi(create);
    describeAccepting(api);
    describeCallers(api);
    describeRequests(api);
    describeOtherRequests(api);
    describeIdempotency(api);
    describeCallHeaders(api);
  });
}
