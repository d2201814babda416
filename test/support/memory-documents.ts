import { grantPermits, listPermitTimes } from "#shared/telephony/rate.ts";
import { frozen } from "./frozen.ts";
import type { Documents, PurgePosition } from "#shared/ports/documents.ts";
import {
  type DocumentKey,
  type FoundDocument,
  type Kind,
  paceExpiresAt,
  parseValue,
  type StoredDocument,
  type StoredText,
  toFound,
} from "#shared/ports/document-kinds.ts";
import { toRead } from "#shared/ports/found-documents.ts";

/** Documents that one purge looks at. */
const purgedMax = 2_000;

function byKindAndKey(one: DocumentKey, other: PurgePosition): number {
  const [a, b] = [`${one.kind} ${one.key}`, `${other.kind} ${other.key}`];
  return a < b ? -1 : Number(a > b);
}

/** Documents as parsed, by what is stored. */
const parsed = new WeakMap<StoredText, FoundDocument>();

function documentOf<K extends Kind>(kind: K, stored: StoredText): FoundDocument<K> {
  const known = parsed.get(stored);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is stored is of one kind
  if (known !== undefined) return known as FoundDocument<K>;
  const document = frozen({ ...toFound(kind, stored) });
  parsed.set(stored, document);
  return document;
}

/**
 * Creates documents in this process's memory, for tests. The documents that it returns are frozen.
 *
 * @param now clock that decides expiry, in milliseconds since the epoch
 * @param freshVersion makes the versions of `add` and `takePermits`
 * @param storeNow clock of the store itself
 */
export function createMemoryDocuments(
  now: () => number,
  freshVersion: () => string,
  stored: Map<string, StoredText> = new Map(),
  storeNow: () => number = now,
): Documents {
  const nameOf = ({ kind, key }: DocumentKey) => `${kind} ${key}`;
  const current = (key: DocumentKey): StoredText | undefined => {
    const found = stored.get(nameOf(key));
    return found === undefined || (found.expiresAt ?? Infinity) <= now() ? undefined : found;
  };
  const put = (document: Omit<StoredDocument, "version"> & { version?: string }) => {
    const { kind, key, version = freshVersion(), value, expiresAt } = document;
    const json = JSON.stringify(value);
    stored.set(nameOf(document), { kind, key, version, json, expiresAt });
  };

  return {
    async read(keys) {
      const found = new Map(keys.map((key) => [nameOf(key), current(key)]));
      return toRead((kind, key) => {
        const one = found.get(nameOf({ kind, key }));
        return one && documentOf(kind, one);
      });
    },
    async write(changes) {
      return changes.map(({ next, seen }) => {
        const version = current(next)?.version ?? null;
        if (version === next.version) return true;
        if (version !== seen) return false;
        put(next);
        return true;
      });
    },
    async add(document, counters, expiresAt) {
      const found = current(document);
      const sums = new Map<string, number>(
        Object.entries(
          found === undefined ? {} : parseValue(document.kind, JSON.parse(found.json)),
        ),
      );
      for (const [name, count] of Object.entries(counters)) {
        sums.set(name, (sums.get(name) ?? 0) + count);
      }
      const value: Record<string, number> = Object.fromEntries(sums);
      put({ ...document, value, expiresAt });
      return value;
    },
    async addAll(additions) {
      for (const { counters, expiresAt, ...key } of additions) {
        await this.add(key, counters, expiresAt);
      }
    },
    async exchange(document, { removed, added }) {
      const found = current(document);
      if (found === undefined) return undefined;
      const before: Record<string, number> = parseValue(document.kind, JSON.parse(found.json));
      if (Object.entries(removed).some(([name, seen]) => before[name] !== seen)) return undefined;
      const sums = new Map(Object.entries(before).filter(([name]) => removed[name] === undefined));
      for (const [name, count] of Object.entries(added)) {
        sums.set(name, (sums.get(name) ?? 0) + count);
      }
      const value: Record<string, number> = Object.fromEntries(sums);
      put({ ...document, value, expiresAt: found.expiresAt });
      return value;
    },
    async list(kind, { after, limit, descending = false }) {
      const found = [...stored.values()]
        .filter((one) => one.kind === kind && current(one) !== undefined)
        .filter(({ key }) => after === undefined || (descending ? key < after : key > after))
        .toSorted((a, b) => (a.key < b.key === descending ? 1 : -1))
        .slice(0, limit);
      return found.map((one) => documentOf(kind, one));
    },
    async listByPrefix(kind, { prefixes, before = "\u{10ffff}", limit }) {
      const found = [...stored.values()]
        .filter((one) => one.kind === kind && current(one) !== undefined)
        .filter(({ key }) => key < before && prefixes.some((prefix) => key.startsWith(prefix)))
        .toSorted((a, b) => (a.key < b.key ? 1 : -1))
        .slice(0, limit);
      return found.map((one) => documentOf(kind, one));
    },
    async remove(removals) {
      for (const { seen, ...key } of removals) {
        if (stored.get(nameOf(key))?.version === seen) stored.delete(nameOf(key));
      }
    },
    storeTime: async () => storeNow(),
    async takePermits(document, pace, request) {
      const found = current(document);
      const before = found && parseValue(document.kind, JSON.parse(found.json));
      const { granted, baseUs, arrivalUs } = grantPermits(before?.arrivalUs, pace, request);
      if (granted === 0) return { times: [] };
      const total = (before?.total ?? 0) + granted;
      put({ ...document, value: { arrivalUs, total }, expiresAt: paceExpiresAt(request.notAfter) });
      const { notBefore } = request;
      return { times: listPermitTimes(baseUs, pace, { granted, notBefore }), total };
    },
    async purge(after) {
      const sorted = [...stored.values()].toSorted(byKindAndKey);
      const looked = sorted
        .filter((one) => after === undefined || byKindAndKey(one, after) > 0)
        .slice(0, purgedMax);
      for (const one of looked) if (current(one) === undefined) stored.delete(nameOf(one));
      const last = looked.at(-1);
      return looked.length < purgedMax || last === undefined
        ? undefined
        : { kind: last.kind, key: last.key };
    },
  };
}
