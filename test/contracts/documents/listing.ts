import { beforeEach, describe, expect, it } from "vitest";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { Documents } from "#shared/ports/documents.ts";
import { hashNumber } from "#shared/telephony/number-hashes.ts";
import { nameOfKey } from "#shared/lib/rotated-keys.ts";
import { suiteNow } from "#test/support/call-rows.ts";
import {
  aDocument,
  anew,
  aPause,
  type CreateDocuments,
  removeCurrent,
} from "#test/support/documents.ts";
import { perTier } from "#test/support/per-tier.ts";

export function describeDocumentListing(name: string, create: CreateDocuments): void {
  describe(`${name} as documents: listing`, () => {
    let documents: Documents;
    let now = suiteNow;
    beforeEach(async () => {
      now = suiteNow;
      documents = await create(() => now);
    });

    it("lists a kind in the order of its keys, forwards and backwards, whole documents", async () => {
      const pauses = ["c", "a", '["crm","é"]', "b", "é"].map((key, at) => aPause(key, at));
      const sorted = pauses.toSorted((a, b) => (a.key < b.key ? -1 : 1));
      const breaker = aDocument("breaker", "b", {
        state: "open",
        code: "402",
        openedAt: 1,
        probeAt: 2,
        intervalMs: 3,
        cause: "unreachable" as const,
        room: 0,
        blamed: [],
      });
      await documents.write(anew(...pauses, breaker));
      expect(await documents.list("pause", { limit: 9 })).toEqual(sorted);
      expect(await documents.list("pause", { limit: 9, descending: true })).toEqual(
        sorted.toReversed(),
      );
      expect(await documents.list("breaker", { limit: 9 })).toEqual([breaker]);
      expect(await documents.list("audit", { limit: 9 })).toEqual([]);
    });

    it("lists documents beside one that only a later version can read", async () => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value must be a malformed one
      const later = { of: { later: "agent 2" }, at: 1 } as unknown as ValueOf<"pause">;
      const unreadable = aDocument("pause", "agent 2", later);
      const [one, other] = [aPause("agent 1"), aPause("agent 3")];
      await documents.write(anew(one, unreadable, other));
      const listed = await documents.list("pause", { limit: 9 });
      expect(listed.map(({ key, version }) => [key, version])).toEqual(
        [one, unreadable, other].map(({ key, version }) => [key, version]),
      );
      expect(listed.map(isReadable)).toEqual([true, false, true]);
      expect(listed.filter(isReadable)).toEqual([one, other]);
    });

    it("continues after a key, whether or not it has a document", async () => {
      const pauses = Array.from({ length: 5 }, (_, at) => aPause(`agent ${at}`));
      await documents.write(anew(...pauses));
      const list = async (after: string, descending: boolean) => {
        const found = await documents.list("pause", { after, limit: 2, descending });
        return found.map(({ key }) => key);
      };
      expect(await list("agent 1", false)).toEqual(["agent 2", "agent 3"]);
      expect(await list("agent 3", true)).toEqual(["agent 2", "agent 1"]);
      expect(await list("agent 2x", false)).toEqual(["agent 3", "agent 4"]);
      expect(await list("agent 2x", true)).toEqual(["agent 2", "agent 1"]);
      expect(await list("agent 4", false)).toEqual([]);
      expect(await list("agent 0", true)).toEqual([]);
    });

    it("lists what begins with some texts, the highest first, and nothing between them", async () => {
      const keyOf = (hour: number, client: string, agent: string) =>
        `49${String(hour).padStart(4, "0")} ${JSON.stringify([client, agent, ""])}`;
      const clients = ["cr", "crm", "crm2", "é"];
      const keys = Array.from({ length: perTier({ quick: 12, long: 60 }) }, (_, hour) =>
        clients.flatMap((client) => ["a", "b"].map((agent) => keyOf(hour, client, agent))),
      ).flat();
      for (const key of keys) {
        const expiresAt = suiteNow + (key.startsWith("490007") ? 1 : 9_000_000);
        await documents.add({ kind: "usage", key }, { accepted: 1 }, expiresAt);
      }
      now = suiteNow + 2; // by then those of one hour have expired
      for (const client of clients) {
        const prefixOf = (hour: number) => keyOf(hour, client, "").replace('"",""]', "");
        for (const hours of [
          [],
          [3],
          [5, 6, 7, 8],
          Array.from({ length: perTier({ quick: 10, long: 70 }) }, (_, hour) => hour),
        ]) {
          const prefixes = hours.map(prefixOf);
          const expected = keys
            .filter(
              (key) => prefixes.some((one) => key.startsWith(one)) && !key.startsWith("490007"),
            )
            .toSorted()
            .toReversed();
          for (const limit of [3, 200]) {
            const found: string[] = [];
            let page: string[];
            do {
              const query = { prefixes, before: found.at(-1), limit };
              page = (await documents.listByPrefix("usage", query)).map(({ key }) => key);
              found.push(...page);
            } while (page.length === limit);
            expect([client, limit, found]).toEqual([client, limit, expected]);
          }
        }
      }
      const [one] = await documents.listByPrefix("usage", { prefixes: ["490001"], limit: 1 });
      expect(one).toMatchObject({ kind: "usage", value: { accepted: 1 } });
    });

    it("lists the entries of the do-not-call list by their hashes, in pages", async () => {
      const hashKeys = ["0a".repeat(32), "0b".repeat(32), "0c".repeat(32)];
      const keys = Array.from({ length: perTier({ quick: 10, long: 40 }) }, (_, n) => {
        const { numberHash } = hashNumber(`+1303555${1000 + n}`, hashKeys[n % 2] ?? "");
        return numberHash;
      }).toSorted();
      await documents.write(anew(...keys.map((key, at) => aDocument("do-not-call", key, { at }))));
      const walk = async (limit: number, descending: boolean) => {
        const found: string[] = [];
        for (let page = 0; page < 50; page++) {
          const after = found.at(-1);
          const listed = await documents.list("do-not-call", { after, limit, descending });
          found.push(...listed.map(({ key }) => key));
          if (listed.length < limit) return found;
        }
        return found;
      };
      for (const limit of [1, 7, keys.length, 100]) {
        expect(await walk(limit, false)).toEqual(keys);
        expect(await walk(limit, true)).toEqual(keys.toReversed());
      }
      for (const keyName of hashKeys.map(nameOfKey)) {
        const expected = keys.filter((key) => key > keyName).slice(0, 1);
        const found = await documents.list("do-not-call", { after: keyName, limit: 1 });
        expect(found.map(({ key }) => key)).toEqual(expected);
      }
      const [first, last] = [keys[0] ?? "", keys.at(-1) ?? ""];
      expect(await documents.list("do-not-call", { after: last, limit: 9 })).toEqual([]);
      const below = { after: first, limit: 9, descending: true };
      expect(await documents.list("do-not-call", below)).toEqual([]);
    });

    it("leaves out what has expired or was removed, and fills the page all the same", async () => {
      const acts = Array.from({ length: 30 }, (_, at) =>
        aDocument(
          "audit",
          `${1000 + at}`,
          { at, by: "ops", action: "pause", target: "agent a" },
          at % 3 === 0 ? null : suiteNow + at,
        ),
      );
      await documents.write(anew(...acts));
      now += 29;
      await removeCurrent(documents, { kind: "audit", key: "1003" });
      const keys = acts.filter(({ expiresAt }) => expiresAt === null).map(({ key }) => key);
      keys.splice(1, 1);
      const list = async (descending: boolean) =>
        (await documents.list("audit", { limit: 4, descending })).map(({ key }) => key);
      expect(await list(false)).toEqual(keys.slice(0, 4));
      expect(await list(true)).toEqual(keys.toReversed().slice(0, 4));
    });
  });
}
