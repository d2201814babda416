import { describe, expect, it } from "vitest";
import {
  clientEntryOf,
  doNotCallKeyOf,
  doNotCallKeysOf,
  doNotCallListKey,
  findCurrentSince,
  isClientEntry,
  isOfOtherKey,
  isOnDoNotCallList,
  OtherKeyError,
  readListed,
} from "#shared/policy/number-entries.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { toDocumentsRead } from "#shared/ports/documents-read.ts";

const clientEntry = clientEntryOf("hash", "crm");
const entry = { kind: "do-not-call", version: "v", json: '{"at":1}', expiresAt: null } as const;

/** Returns the documents of entries, and of the names of their keys. */
function listOf(entries: readonly string[], list?: ValueOf<"do-not-call-list">) {
  const stored = entries.map((key) => ({ ...entry, key }));
  const named = { ...doNotCallListKey, version: "v", json: JSON.stringify(list), expiresAt: null };
  return toDocumentsRead(list === undefined ? stored : [...stored, named]);
}

describe("the do-not-call list", () => {
  it("names its documents: an entry of each hash, and the names of their keys", () => {
    expect(doNotCallKeysOf(["hash", clientEntry])).toEqual([
      { kind: "do-not-call", key: "hash" },
      { kind: "do-not-call", key: "hash crm" },
      doNotCallListKey,
    ]);
    expect(doNotCallKeyOf("hash")).toEqual({ kind: "do-not-call", key: "hash" });
    expect([isClientEntry("hash"), isClientEntry(clientEntry)]).toEqual([false, true]);
  });

  it.each<[entries: string[], client: string | undefined, isListed: boolean]>([
    [[], "crm", false],
    [["hash"], undefined, true],
    [["former"], undefined, true],
    [["another"], undefined, false],
    [["hash"], "shop", true],
    [[clientEntry], "crm", true],
    [[clientEntryOf("former", "crm")], "crm", true],
    [[clientEntry], "shop", false],
    [[clientEntry], undefined, false],
    [[clientEntryOf("hash", "undefined")], undefined, false],
  ])(
    "with the entries %j holds a number of the client %s: %s",
    async (entries, client, isListed) => {
      const number = { hashes: ["hash", "former"], client };
      const documents = listOf(entries);
      expect(isOnDoNotCallList(number, documents, ["one"])).toBe(isListed);
      const read = async () => documents;
      expect(await readListed([number, { hashes: ["free"] }], ["one"], { read })).toEqual([
        isListed,
        false,
      ]);
    },
  );

  it("asks for a client's entries where there is a client", async () => {
    const asked: string[] = [];
    const read = async (names: readonly { key: string }[]) => {
      asked.push(...names.map(({ key }) => key));
      return listOf([]);
    };
    await readListed([{ hashes: ["a", "b"], client: "crm" }, { hashes: ["c"] }], ["one"], { read });
    expect(asked).toEqual(["a", "a crm", "b", "b crm", "c", "list"]);
  });

  it("dials nobody while entries may stand under a key that is not held", async () => {
    const list = { keys: ["one", "two"], current: null };
    const documents = listOf([], list);
    expect(isOfOtherKey(documents, ["one"])).toBe(true);
    expect(isOfOtherKey(documents, ["one", "two", "three"])).toBe(false);
    expect(isOfOtherKey(listOf([]), ["one"])).toBe(false);
    const number = { hashes: ["hash"] };
    expect(() => isOnDoNotCallList(number, documents, ["two"])).toThrow(OtherKeyError);
    const read = async () => documents;
    expect(await readListed([number], ["two"], { read })).toBeUndefined();
    expect(await readListed([number], ["one", "two"], { read })).toEqual([false]);
  });

  it("says since when the first key is known to be the current one", () => {
    const list = { keys: [], current: { name: "one", since: 5 } };
    expect(findCurrentSince(listOf([], list), ["one", "two"])).toBe(5);
    expect(findCurrentSince(listOf([], list), ["two", "one"])).toBeUndefined();
    expect(findCurrentSince(listOf([], { keys: [], current: null }), ["one"])).toBeUndefined();
    expect(findCurrentSince(listOf([]), ["one"])).toBeUndefined();
  });
});
