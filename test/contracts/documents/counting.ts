import { beforeEach, describe, expect, it } from "vitest";
import type { Documents } from "#shared/ports/documents.ts";
import { suiteNow } from "#test/support/call-rows.ts";
import { aDocument, type CreateDocuments } from "#test/support/documents.ts";

export function describeCounting(name: string, create: CreateDocuments): void {
  describe(`${name} as documents: counting`, () => {
    let documents: Documents;
    let now = suiteNow;
    beforeEach(async () => {
      now = suiteNow;
      documents = await create(() => now);
    });
    const hour = 3_600_000;
    const failures = { kind: "counters", key: "account main" } as const;
    const read = async () => (await documents.read([failures])).get("counters", failures.key);

    it("adds to the counters of many documents at once, each its own", async () => {
      const keyOf = (n: number) => ({ kind: "counters", key: `account ${n}` }) as const;
      const additions = Array.from({ length: 150 }, (_, n) => ({
        ...keyOf(n),
        counters: { answered: n, [`of ${n}`]: 1 },
        expiresAt: now + hour,
      }));
      await documents.add(keyOf(7), { answered: 1 }, now + 2 * hour);
      await documents.addAll(additions);
      await documents.addAll([]);
      const all = await documents.read(additions);
      expect(all.get("counters", "account 7")?.value).toEqual({ answered: 8, "of 7": 1 });
      expect(all.get("counters", "account 149")).toMatchObject({
        value: { answered: 149, "of 149": 1 },
        expiresAt: now + hour,
      });
      now += hour;
      await documents.addAll([{ ...keyOf(9), counters: { answered: 1 }, expiresAt: now + hour }]);
      expect((await documents.read([keyOf(9)])).get("counters", "account 9")?.value).toEqual({
        answered: 1,
      });
    });

    it("adds to counters, makes those that are missing, and answers with all", async () => {
      expect(await documents.add(failures, { answered: 2 }, now + hour)).toEqual({ answered: 2 });
      expect(await documents.add(failures, { answered: 1, unreachable: 5 }, now + hour)).toEqual({
        answered: 3,
        unreachable: 5,
      });
      expect(await documents.add(failures, { answered: -1 }, now + 2 * hour)).toEqual({
        answered: 2,
        unreachable: 5,
      });
      expect(await read()).toMatchObject({
        value: { answered: 2, unreachable: 5 },
        expiresAt: now + 2 * hour,
      });
    });

    it("takes any text for a counter's name", async () => {
      const names = ["402", "a.b", 'a"b', "c\\d", "é 中 😀", "$[0]", "a#b", ":x", " "];
      const counters = Object.fromEntries(names.map((one, count) => [one, count + 1]));
      await documents.add(failures, counters, now + hour);
      const doubled = names.map((one, count) => [one, 2 * (count + 1)]);
      expect(await documents.add(failures, counters, now + hour)).toEqual(
        Object.fromEntries(doubled),
      );
      expect((await read())?.value).toEqual(Object.fromEntries(doubled));
    });

    it("exchanges counters while they have the values that were read, whatever else is added", async () => {
      const odd = 'a"b é.c';
      await documents.add(failures, { [odd]: 2, zero: 0, other: 1, sum: 5 }, now + hour);
      const seen = (await read())?.version;
      await documents.add(failures, { other: 1 }, now + hour);
      const exchange = { removed: { [odd]: 2, zero: 0 }, added: { sum: 4, fresh: 1 } };
      const sums = { other: 2, sum: 9, fresh: 1 };
      expect(await documents.exchange(failures, exchange)).toEqual(sums);
      expect(await read()).toMatchObject({ value: sums, expiresAt: now + hour });
      expect((await read())?.version).not.toBe(seen);
      expect(await documents.exchange(failures, { removed: { fresh: 1 }, added: {} })).toEqual({
        other: 2,
        sum: 9,
      });
      for (const removed of [{ [odd]: 2 }, { other: 3 }, { other: 2, gone: 0 }]) {
        expect(await documents.exchange(failures, { removed, added: { sum: 1 } })).toBeUndefined();
      }
      now += hour;
      expect(await documents.exchange(failures, { removed: { other: 2 }, added: {} })).toBe(
        undefined,
      );
      expect(await read()).toBeUndefined();
    });

    it("exchanges counters once, however many processes do", async () => {
      const names = Array.from({ length: 50 }, (_, n) => `${n}`.padStart(98, "key "));
      const removed = Object.fromEntries(names.map((one, index) => [one, index % 3]));
      await documents.add(failures, { ...removed, sum: 1 }, now + hour);
      const answers = await Promise.all(
        Array.from({ length: 10 }, async (_, n) =>
          n % 2 === 0
            ? documents.add(failures, { more: 1 }, now + hour)
            : documents.exchange(failures, { removed, added: { sum: 10 } }),
        ),
      );
      expect(answers.filter((one) => one === undefined)).toHaveLength(4);
      expect((await read())?.value).toEqual({ sum: 11, more: 5 });
    });

    it("loses nothing of what many add at once", async () => {
      const counts = { kind: "usage", key: "490000 []" } as const;
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          documents.add(counts, { PLACED: 1, [`of ${index % 5}`]: 2 }, now + hour),
        ),
      );
      expect(new Set(answers.map(({ PLACED }) => PLACED)).size).toBe(50);
      const sums = (await documents.read([counts])).get("usage", "490000 []")?.value;
      expect(sums).toEqual({
        PLACED: 50,
        ...Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`of ${index}`, 20])),
      });
    });

    it("restarts expired counters once, however many processes add to them", async () => {
      await documents.add(failures, { answered: 100, gone: 1 }, now + hour);
      now += hour;
      expect(await read()).toBeUndefined();
      await Promise.all(
        Array.from({ length: 20 }, () => documents.add(failures, { answered: 1 }, now + hour)),
      );
      expect((await read())?.value).toEqual({ answered: 20 });
    });

    it("changes the version with each addition, so that a reset loses no addition that it has not seen", async () => {
      await documents.add(failures, { unreachableInRow: 4 }, now + hour);
      const seen = await read();
      const versions = [seen?.version];
      await documents.add(failures, { unreachableInRow: 1 }, now + hour);
      versions.push((await read())?.version);
      expect(new Set(versions).size).toBe(2);
      const reset = aDocument("counters", failures.key, { unreachableInRow: 0 }, now + hour);
      expect(await documents.write([{ next: reset, seen: seen?.version ?? "" }])).toEqual([false]);
      const current = (await read())?.version ?? "";
      expect(await documents.write([{ next: reset, seen: current }])).toEqual([true]);
      expect(await read()).toEqual(reset);
      expect(await documents.add(failures, { unreachableInRow: 1 }, now + hour)).toEqual({
        unreachableInRow: 1,
      });
    });
  });
}
