import { beforeEach, describe, expect, it } from "vitest";
import { countCalls, countedIn, dayKeyOf, leaveCalls } from "#shared/policy/day-counts.ts";
import { gatherAbove, ownEntriesMax } from "#shared/policy/gathered-entries.ts";
import { nameOfEntry, sortOutGathered } from "#shared/ports/journal.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { suiteNow } from "#test/support/call-rows.ts";
import type { CreateDocuments } from "#test/support/documents.ts";

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
      await leaveCalls(of, { at: suiteNow, calls: 2 }, documents);
      expect([await enter(3), await enter(2), await counted()]).toEqual([0, 2, limit]);
    });

    it("counts a request once, however many of its tries are counted, and subtracts its calls with the last", async () => {
      const request = { key: "5e".repeat(32), fingerprint: "0123456789abcdef" };
      const counting = { at: suiteNow, calls: 7, limit: 20, request };
      const enter = () => countCalls(of, counting, documents);
      const leave = () => leaveCalls(of, counting, documents);
      for (let tries = 0; tries < 3; tries++) {
        expect(await enter()).toEqual({ isCounted: true, total: 7, marks: 1 });
      }
      const other = { ...counting, request: { ...request, key: "6f".repeat(32) } };
      expect(await countCalls(of, other, documents)).toMatchObject({ total: 14, marks: 2 });
      const above = { ...counting, request: { ...request, key: "70".repeat(32) } };
      const refused = { isCounted: false, isFirst: true, left: 6 };
      expect(await countCalls(of, above, documents)).toEqual(refused);
      for (const left of [14, 14, 7]) {
        await leave();
        expect(await counted()).toBe(left);
      }
      expect(await enter()).toMatchObject({ total: 14 });
    });

    it("gathers entries above a writer's number into one page, and gives back each as it was", async () => {
      const added: [string, string][] = [];
      const journal = { append: async (...entry: [string, string]) => void added.push(entry) };
      const gathering = gatherAbove(of, { journal, documents, log: () => undefined });
      const bodies = Array.from({ length: ownEntriesMax + 5 }, (_, n) =>
        JSON.stringify({
          kind: "cancel",
          of: { agent: `"é\\n${n}` },
          indexes: "=".repeat(n * 100),
        }),
      );
      for (const body of bodies) await gathering.append(nameOfEntry(suiteNow, "a"), body);
      const own = added.filter(([entry]) => entry.endsWith("-a"));
      expect(own.map(([, body]) => body)).toEqual(bodies.slice(0, ownEntriesMax));
      const [last, ...others] = sortOutGathered(added.map(([entry]) => entry)).kept.filter(
        (entry) => !entry.endsWith("-a"),
      );
      const isLargest = ([entry]: [string, string]) => entry === last;
      const page = JSON.parse(added.find(isLargest)?.[1] ?? "");
      const inPages = others.length === 0 ? page.entries : [];
      expect(inPages.toSorted()).toEqual(bodies.slice(ownEntriesMax).toSorted());
    });
  });
}
