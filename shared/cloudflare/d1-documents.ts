import { inParameters, queryOn, queryParts, writeVersioned } from "./d1-writes.ts";
import { listPermitTimes } from "../telephony/rate.ts";
import type { Addition, DocumentChange, Documents, PurgePosition } from "../ports/documents.ts";
import {
  type DocumentKey,
  toFound,
  paceExpiresAt,
  type StoredText,
} from "../ports/document-kinds.ts";
import { toDocumentsRead } from "../ports/documents-read.ts";

/** Maximum documents that a statement of a purge looks at: other statements wait while one runs. */
const purgedMax = 2_000;
/** The highest character, which no key has. */
const lastCodePoint = 0x10ffff;
const highest = String.fromCodePoint(lastCodePoint);

/** Columns named as the fields of `StoredText`. */
const columns = "kind, key, version, value AS json, expires_at AS expiresAt";

/** ?2: the current time. An expired document counts as absent. */
const statements = {
  insert: `
INSERT INTO documents (kind, key, version, value, expires_at)
SELECT value->>'kind', value->>'key', value->>'version', value->'value', value->>'expiresAt'
FROM json_each(?1) WHERE true
ON CONFLICT (kind, key) DO UPDATE
SET version = excluded.version, value = excluded.value, expires_at = excluded.expires_at
WHERE documents.version = excluded.version OR documents.expires_at <= ?2
RETURNING kind || ' ' || key AS name, version`,
  update: `
UPDATE documents SET version = j.value->>'version', value = j.value->'value', expires_at = j.value->>'expiresAt'
FROM json_each(?1) AS j
WHERE documents.kind = j.value->>'kind' AND documents.key = j.value->>'key'
  AND documents.version IN (j.value->>'seen', j.value->>'version')
  AND (documents.expires_at IS NULL OR documents.expires_at > ?2)
RETURNING documents.kind || ' ' || documents.key AS name, documents.version`,
};

/** ?1 the keys, ?2 the current time. CROSS JOIN keeps SQLite from scanning the table first. */
const read = `
SELECT documents.kind, documents.key, version, documents.value AS json, expires_at AS expiresAt
FROM json_each(?1) AS j CROSS JOIN documents
  ON documents.kind = j.value->>'kind' AND documents.key = j.value->>'key'
WHERE expires_at IS NULL OR expires_at > ?2`;

/** ?1 kind, ?2 the current time, ?3 the prefixes, ?4 the key below which the list begins, ?5 the maximum documents. */
const listByPrefix = `
SELECT documents.kind, documents.key, version, documents.value AS json, expires_at AS expiresAt
FROM json_each(?3) AS j CROSS JOIN documents
  ON documents.kind = ?1 AND documents.key >= j.value AND documents.key < min(?4, j.value || char(${lastCodePoint}))
WHERE expires_at IS NULL OR expires_at > ?2
ORDER BY documents.key DESC LIMIT ?5`;

/** ?1 the additions, ?2 the version, ?3 the current time. */
const add = `
INSERT INTO documents (kind, key, version, value, expires_at)
SELECT value->>'kind', value->>'key', ?2, value->'counters', value->>'expiresAt' FROM json_each(?1) WHERE true
ON CONFLICT (kind, key) DO UPDATE SET version = excluded.version, expires_at = excluded.expires_at,
  value = iif(documents.expires_at <= ?3, excluded.value, (
    SELECT json_group_object(key, total) FROM (
      SELECT key, sum(value) AS total FROM (
        SELECT key, value FROM json_each(documents.value)
        UNION ALL SELECT key, value FROM json_each(excluded.value))
      GROUP BY key)))
RETURNING value AS json`;

/** ?1 kind, ?2 key, ?3 the counters to be removed, ?4 the additions, ?5 the version, ?6 the current time. */
const exchange = `
UPDATE documents SET version = ?5, value = (
  SELECT json_group_object(key, total) FROM (
    SELECT key, sum(value) AS total FROM (
      SELECT key, value FROM json_each(documents.value) WHERE key NOT IN (SELECT key FROM json_each(?3))
      UNION ALL SELECT key, value FROM json_each(?4))
    GROUP BY key))
WHERE kind = ?1 AND key = ?2 AND (expires_at IS NULL OR expires_at > ?6)
  AND (SELECT count(*) FROM json_each(?3)) = (
    SELECT count(*) FROM json_each(documents.value) AS counter
    WHERE (counter.key, counter.value) IN (SELECT key, value FROM json_each(?3)))
RETURNING value AS json`;

/**
 * `grantPermits` of rate.ts as one statement, so that no other write comes between its read and its write.
 * ?1 kind, ?2 key, ?3 version, ?4 the document's expiry, ?5 the current time; ?6 the interval, ?7 the
 * window's beginning, ?8 the latest arrival that still fits, in microseconds; ?9 the maximum number of
 * permits. A document of 0.2.0 has no `total`, which then begins anew at `earliest`. D1 binds numbers as
 * floating-point ones: the CASTs keep the arithmetic in whole numbers. The column `granted` exists because
 * RETURNING can only return columns.
 */
const takePermits = `
WITH asked AS (SELECT CAST(?6 AS INTEGER) AS interval, CAST(?7 AS INTEGER) AS earliest, CAST(?8 AS INTEGER) AS latest,
    CAST(?9 AS INTEGER) AS count),
  based AS (SELECT asked.*, iif(d.kind IS NULL, 0, coalesce(d.value->>'total', earliest)) AS total,
      max(earliest, iif(d.expires_at <= ?5, 0, coalesce(d.value->>'arrivalUs', 0))) AS base
    FROM asked LEFT JOIN documents AS d ON d.kind = ?1 AND d.key = ?2),
  given AS (SELECT *, iif(latest < base, 0, min(count, (latest - base) / interval + 1)) AS granted FROM based)
INSERT INTO documents (kind, key, version, value, expires_at)
SELECT ?1, ?2, ?3,
  json_object('arrivalUs', base + granted * interval, 'granted', granted, 'total', total + granted), ?4
FROM given WHERE granted > 0
ON CONFLICT (kind, key) DO UPDATE
SET version = excluded.version, value = excluded.value, expires_at = excluded.expires_at
RETURNING value->>'arrivalUs' AS arrivalUs, value->>'granted' AS granted, value->>'total' AS total`;

const remove = `
DELETE FROM documents WHERE (kind, key) IN (
  SELECT d.kind, d.key FROM json_each(?1) AS j
  JOIN documents AS d ON d.kind = j.value->>'kind' AND d.key = j.value->>'key'
  WHERE j.value->>'seen' = d.version)`;

const storeTime = `SELECT unixepoch('subsec') AS seconds`;

/** ?1 and ?2 kind and key after which the scan continues. */
const lastLookedAt = `
SELECT kind, key FROM documents WHERE (kind, key) > (?1, ?2) ORDER BY kind, key LIMIT 1 OFFSET ${purgedMax - 1}`;

/** ?1 the current time; ?2 and ?3 kind and key after which the scan begins, ?4 and ?5 those at which it ends. */
const purge = `
DELETE FROM documents WHERE (kind, key) > (?2, ?3) AND (kind, key) <= (?4, ?5) AND expires_at <= ?1`;

/** Reads documents. Ten thousand calls of as many agents have keys of megabytes, for several statements. */
async function readTexts(
  keys: readonly DocumentKey[],
  now: number,
  all: ReturnType<typeof queryOn>,
): Promise<StoredText[]> {
  const parts = inParameters(keys.map(({ kind, key }) => JSON.stringify({ kind, key })));
  return (await queryParts<StoredText>(all, { sql: read, parts }, now)).flat();
}

async function readTime(all: ReturnType<typeof queryOn>): Promise<number> {
  const [time] = await all<{ seconds: number }>(storeTime);
  if (time === undefined) throw new Error("D1 did not return its time");
  return Math.round(time.seconds * 1000);
}

function createExchange(
  all: ReturnType<typeof queryOn>,
  { now, freshVersion }: Sources,
): Documents["exchange"] {
  return async ({ kind, key }, { removed, added }) => {
    const bound = [kind, key, JSON.stringify(removed), JSON.stringify(added), freshVersion()];
    const [sums] = await all<{ json: string }>(exchange, ...bound, now());
    return sums === undefined ? undefined : JSON.parse(sums.json);
  };
}

interface Sources {
  now: () => number;
  freshVersion: () => string;
}

/**
 * Creates the documents in Cloudflare D1; infra/d1 has their table.
 *
 * @param sources.now clock that decides expiry, in milliseconds since the epoch
 * @param sources.freshVersion makes the versions of `add`, `exchange` and `takePermits`
 */
export function createD1Documents(database: D1Database, { now, freshVersion }: Sources): Documents {
  const all = queryOn(database);
  const addAll = (additions: readonly Addition[]) =>
    all<{ json: string }>(add, JSON.stringify(additions), freshVersion(), now());
  return {
    read: async (keys) => toDocumentsRead(await readTexts(keys, now(), all)),
    write: (changes) =>
      writeVersioned(database, statements, { writes: changes.map(writeOf), bound: [now()] }),
    async add({ kind, key }, counters, expiresAt) {
      const [sums] = await addAll([{ kind, key, counters, expiresAt }]);
      if (sums === undefined) throw new Error("an addition returned no counters");
      return JSON.parse(sums.json);
    },
    addAll: async (additions) => void (await addAll(additions)),
    exchange: createExchange(all, { now, freshVersion }),
    async list(kind, { after, limit, descending = false }) {
      const [below, order] = descending ? ["<", "DESC"] : [">", "ASC"];
      const sql = `SELECT ${columns} FROM documents WHERE kind = ?1 AND (expires_at IS NULL OR expires_at > ?2)
        ${after === undefined ? "" : `AND key ${below} ?4`} ORDER BY key ${order} LIMIT ?3`;
      const bound = after === undefined ? [] : [after];
      const found = await all<StoredText>(sql, kind, now(), limit, ...bound);
      return found.map((one) => toFound(kind, one));
    },
    async listByPrefix(kind, { prefixes, before = highest, limit }) {
      const bound = [kind, now(), JSON.stringify(prefixes), before, limit];
      const found = await all<StoredText>(listByPrefix, ...bound);
      return found.map((one) => toFound(kind, one));
    },
    storeTime: () => readTime(all),
    async remove(removals) {
      const removed = removals.map(({ kind, key, seen }) => ({ kind, key, seen }));
      await all(remove, JSON.stringify(removed));
    },
    async takePermits({ kind, key }, pace, { count, notBefore, notAfter }) {
      const { intervalUs, burst } = pace;
      const latest = notAfter * 1000 + (burst - 1) * intervalUs;
      const document = [kind, key, freshVersion(), paceExpiresAt(notAfter), now()];
      const asked = [intervalUs, notBefore * 1000, latest, count];
      const [given] = await all<{ arrivalUs: number; granted: number; total: number }>(
        takePermits,
        ...document,
        ...asked,
      );
      if (given === undefined) return { times: [] };
      const { arrivalUs, granted, total } = given;
      const baseUs = arrivalUs - granted * intervalUs;
      return { times: listPermitTimes(baseUs, pace, { granted, notBefore }), total };
    },
    async purge({ kind, key } = { kind: "", key: "" }) {
      const [last] = await all<PurgePosition>(lastLookedAt, kind, key);
      const end = last ?? { kind: highest, key: highest };
      await all(purge, now(), kind, key, end.kind, end.key);
      return last;
    },
  };
}

function writeOf({ next, seen }: DocumentChange) {
  const { kind, key, version } = next;
  return { name: `${kind} ${key}`, version, seen, json: JSON.stringify({ ...next, seen }) };
}
