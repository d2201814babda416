import { beforeEach, describe, expect, it } from "vitest";
import {
  countCalls,
  countedIn,
  dayKeyOf,
  releaseCalls,
} from "../../../shared/policy/day-counts.ts";
import type { Documents } from "../../../shared/ports/documents.ts";
import { suiteNow } from "../../support/call-rows.ts";
import type { CreateDocuments } from "../../support/documents.ts";

export function describeGuards(name: string, create: CreateDocuments): void {
  describe(`${name} as documents: calls of a day`, () => {
    let documents: Documents;
    beforeEach(async () => {
      documents = await create(() => suiteNow);
    });
    const of = { client: 'crm "2026" é' };
    const counted = async () => {
      const key = dayKeyOf(of, suiteNow);
      return countedIn(await documents.read([key]), of, suiteNow);
    };

    it("counts no more than the limit, however many count at once, and all that fit one after another", async () => {
      const limit = 20;
      const enter = (calls: number) =>
        countCalls(of, { at: suiteNow, calls, limit }, documents).then((one) =>
          one.isCounted ? calls : 0,
        );
      const entered = await Promise.all(Array.from({ length: 30 }, (_, index) => enter(index % 4)));
      const sum = entered.reduce((all, calls) => all + calls, 0);
      expect(sum).toBeLessThanOrEqual(limit);
      expect(await counted()).toBe(sum);
      for (let left = limit - sum; left > 0; left--) expect(await enter(1)).toBe(1);
      expect(await enter(1)).toBe(0);
      await releaseCalls(of, { at: suiteNow, calls: 2 }, documents);
      expect([await enter(3), await enter(2), await counted()]).toEqual([0, 2, limit]);
    });
  });
}
