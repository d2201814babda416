import { afterAll, afterEach, expect } from "vitest";
import type { AwsEngines } from "#infra/local/aws-engines.ts";
import { type Judge, startRights } from "../support/aws/rights.ts";

/** Has a function ask the engines under these rights alone. No test may be refused anything. */
export function useRights(first: Judge) {
  let running: Awaited<ReturnType<typeof startRights>> | undefined;
  const rights = () => {
    if (running === undefined) throw new Error("nothing was started");
    return running;
  };
  afterEach(() => expect(rights().refused.splice(0)).toEqual([]));
  afterAll(() => running?.stop());
  const before = async (engines: AwsEngines) => (running = await startRights(engines, first));
  return { rights, before };
}
