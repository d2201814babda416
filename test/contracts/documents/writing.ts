import { beforeEach, describe, expect, it } from "vitest";
import type { Documents } from "#shared/ports/documents.ts";
import type { DocumentKey, StoredDocument } from "#shared/ports/document-kinds.ts";
import { randomId } from "#shared/lib/random.ts";
import { suiteNow } from "#test/support/call-rows.ts";
import {
  aDocument,
  anew,
  aPause,
  type CreateDocuments,
  removeCurrent,
} from "#test/support/documents.ts";
import { perTier } from "#test/support/per-tier.ts";

export function describeDocumentWriting(name: string, create: CreateDocuments): void {
  describe(`${name} as documents: writing`, () => {
    let documents: Documents;
    let now = suiteNow;
    beforeEach(async () => {
      now = suiteNow;
      documents = await create(() => now);
    });
    const read = async (key: DocumentKey) => (await documents.read([key])).get(key.kind, key.key);
    const finished = (seen: StoredDocument, next: StoredDocument) =>
      documents.write([{ next, seen: seen.version }]);

    it("returns nothing for a document that was never written", async () => {
      expect(await read({ kind: "pause", key: "agent a" })).toBeUndefined();
      expect((await documents.read([])).get("pause", "agent a")).toBeUndefined();
      expect(await documents.write([])).toEqual([]);
      await documents.remove([{ kind: "pause", key: "agent a", seen: "none" }]);
    });

    it("writes a document where there is none, and over the version that was read", async () => {
      const [first, rival] = [aPause("a"), aPause("a", 2)];
      const [second, late] = [aPause("a", 3), aPause("a", 4)];
      expect(await documents.write(anew(first))).toEqual([true]);
      expect(await documents.write(anew(rival))).toEqual([false]);
      expect(await read(first)).toEqual(first);
      expect(await finished(first, second)).toEqual([true]);
      expect(await finished(first, late)).toEqual([false]);
      expect(await finished(first, aPause("b"))).toEqual([false]);
      expect(await read(first)).toEqual(second);
      expect(await read({ kind: "pause", key: "b" })).toBeUndefined();
    });

    it("answers a repeated write with true as long as it stands", async () => {
      const [first, second] = [aPause("a"), aPause("a", 2)];
      for (let times = 0; times < 2; times++)
        expect(await documents.write(anew(first))).toEqual([true]);
      for (let times = 0; times < 2; times++) expect(await finished(first, second)).toEqual([true]);
      expect(await documents.write(anew(first))).toEqual([false]);
      expect(await read(first)).toEqual(second);
    });

    it("applies two writes of one document as two, in order", async () => {
      const [first, rival, second] = [aPause("a"), aPause("a", 2), aPause("a", 3)];
      const changes = [...anew(first, rival), { next: second, seen: first.version }];
      expect(await documents.write(changes)).toEqual([true, false, true]);
      expect(await read(first)).toEqual(second);
    });

    it("keeps documents of each kind and key apart, whatever stands in the key", async () => {
      const keys = [
        "a",
        "a b",
        'agent "é" 中文 😀',
        '["crm","a"]',
        "a#b",
        "%",
        "' OR 1 --",
        "doc#",
      ];
      const written = keys.flatMap((key, at) => [
        aPause(key, at),
        aDocument("do-not-call", key, { at }),
        aDocument("cancellation", key, cancelledAt(at), suiteNow + 9),
        aDocument("counters", key, { unreachableInRow: at }, suiteNow + 9),
      ]);
      expect(new Set(await documents.write(anew(...written)))).toEqual(new Set([true]));
      const found = await documents.read(written);
      for (const one of written) expect(found.get(one.kind, one.key)).toEqual(one);
    });

    it("keeps unknown fields of a value, and any text unchanged", async () => {
      const value = {
        fingerprint: 'é😀"\\\n\u0001',
        requestId: "",
        acceptedAt: 1.5,
        later: { list: [1, null, { a: true }] },
      };
      const key = aDocument("idempotency-key", "k", value, suiteNow + 86_400_000);
      await documents.write(anew(key));
      expect(await read(key)).toEqual(key);
    });

    it("writes and reads many at once, and large ones", async () => {
      const numbers = Array.from({ length: perTier({ quick: 130, long: 300 }) }, (_, at) =>
        aDocument("do-not-call", randomId(), { at }),
      );
      const entries = Array.from({ length: 200 }, (_, at) => ({
        call: randomId(),
        claim: randomId(),
        at,
      }));
      const caps = Array.from({ length: perTier({ quick: 5, long: 40 }) }, () =>
        aDocument("cap", randomId(), { entries }),
      );
      const all = [...numbers, ...caps];
      expect(new Set(await documents.write(anew(...all)))).toEqual(new Set([true]));
      const found = await documents.read([...all, ...all.slice(0, 10)]);
      for (const one of all) expect(found.get(one.kind, one.key)).toEqual(one);
      await removeCurrent(documents, ...numbers);
      const left = await documents.read(all);
      expect(numbers.filter(({ kind, key }) => left.get(kind, key) !== undefined)).toEqual([]);
      expect(caps.filter(({ kind, key }) => left.get(kind, key) !== undefined)).toEqual(caps);
    });

    it("removes a document only while it has the given version", async () => {
      const [first, second] = [aPause("a"), aPause("a", 2)];
      const other = aPause("b");
      await documents.write([...anew(first), ...anew(other)]);
      await finished(first, second);
      const { kind, key } = first;
      await documents.remove([
        { kind, key, seen: first.version },
        { kind, key: other.key, seen: other.version },
        { kind, key: "absent", seen: other.version },
      ]);
      expect(await read(first)).toEqual(second);
      expect(await read(other)).toBeUndefined();
      await documents.remove([{ kind, key, seen: second.version }]);
      expect(await read(first)).toBeUndefined();
    });

    it("forgets a document from the moment that it expires, and takes another in its place", async () => {
      const first = aDocument("cancellation", "a", cancelledAt(1), suiteNow + 1000);
      const rival = aDocument("cancellation", "a", cancelledAt(2), suiteNow + 9000);
      await documents.write(anew(first));
      now += 999;
      expect(await read(first)).toEqual(first);
      expect(await documents.write(anew(rival))).toEqual([false]);
      now += 1;
      expect(await read(first)).toBeUndefined();
      // An expired document reads as absent: it is not written over, and a new one takes its place.
      expect(await finished(first, rival)).toEqual([false]);
      expect(await documents.write(anew(rival))).toEqual([true]);
      expect(await documents.write(anew(rival))).toEqual([true]);
      expect(await documents.write(anew(first))).toEqual([false]);
      expect(await read(rival)).toEqual(rival);
    });

    it("purges no document that has not expired", async () => {
      const current = [aPause("a"), aDocument("cap", "a", { entries: [] }, suiteNow + 2)];
      const expiring = Array.from({ length: 20 }, (_, at) =>
        aDocument("do-not-call", `n${at}`, { at }, suiteNow + 1),
      );
      await documents.write(anew(...current, ...expiring));
      now += 1;
      for (let at = await documents.purge(); at !== undefined;) at = await documents.purge(at);
      const found = await documents.read([...current, ...expiring]);
      for (const one of current) expect(found.get(one.kind, one.key)).toEqual(one);
      for (const one of expiring) expect(found.get(one.kind, one.key)).toBeUndefined();
    });

    it("lets one of twenty rivals write, over a version and where one has expired", async () => {
      const rivals = (seen: string | null) =>
        Promise.all(
          Array.from({ length: 20 }, (_, at) =>
            documents.write([{ next: aPause("a", at, now + 1000), seen }]),
          ),
        );
      const winners = async (seen: string | null) => (await rivals(seen)).flat().filter(Boolean);
      expect(await winners(null)).toHaveLength(1);
      const current = await read({ kind: "pause", key: "a" });
      expect(await winners(current?.version ?? "")).toHaveLength(1);
      now += 1000;
      expect(await winners(null)).toHaveLength(1);
    });
  });
}

/** Returns the value of an operator's cancellation. */
function cancelledAt(at: number) {
  return { of: { agent: "a" }, orders: [{ client: null, at, by: "ops", indexes: null }] };
}
