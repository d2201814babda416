import type { CallLedger, CallRow, CallState, DueRow, HistoryEntry } from "./call-ledger.ts";
import { capDaysMax } from "../schedule/frequency-cap.ts";
import { createD1Limits } from "./d1-limits.ts";
import { createD1Operator } from "./d1-operator.ts";
import {
  actEntryOf,
  actFrom,
  claimEntryOf,
  entryOf,
  operatorReason,
  settleFrom,
} from "./state-machine.ts";

/**
 * Most bytes of JSON in one bound parameter. D1 takes 100 parameters a statement and about 1 MB a value,
 * so rows travel as JSON arrays, several statements of one transaction where they are large.
 */
const parameterBytesMax = 400_000;

const quoted = (state: string) => `'${state}'`;

/** What a write adds to a row's history: `entry`, where there is one. */
const recordEntry = `history = iif(j.value->'entry' IS NULL, history,
  json_insert(history, '$[#]', json(j.value->'entry')))`;
const firstHistory = "iif(value->'entry' IS NULL, '[]', json_array(json(value->'entry')))";

/** Claims fresh and due rows; ?1 the claims, ?2 the time. `WHERE true` keeps the upsert unambiguous. */
const claimFresh = `
INSERT INTO calls (id, state, reason, token, attempt, due_at, call, route, request_id, client, agent_id,
  number_hash, number_tail, accepted_at, claimed_at, updated_at, history)
SELECT value->>'$.call.id', 'DIALING', 'claimed', value->>'token', value->>'attempt', value->>'deadline', value->'call',
  value->'route', value->>'$.call.requestId', value->>'$.call.client', value->>'$.call.request.agent_id',
  value->>'numberHash', value->>'numberTail', value->>'$.call.acceptedAt', value->>'at', value->>'at', ${firstHistory}
FROM json_each(?1) AS j WHERE value->>'resendOf' IS NULL
  AND (value->>'attempt' = 1 OR EXISTS (SELECT 1 FROM calls WHERE calls.id = j.value->>'$.call.id'))
ON CONFLICT (id) DO UPDATE SET state = 'DIALING', reason = 'claimed', token = excluded.token,
  attempt = excluded.attempt, due_at = excluded.due_at, line = NULL, route = excluded.route,
  claimed_at = excluded.claimed_at, updated_at = excluded.updated_at,
  history = iif(excluded.history = '[]', calls.history,
    json_insert(calls.history, '$[#]', json(excluded.history->'$[0]')))
WHERE calls.state = 'DEFERRED' AND calls.due_at <= excluded.updated_at AND calls.attempt + 1 = excluded.attempt`;

// `CROSS JOIN` and `+state` keep the planner on the primary key: by the index on state, one claim would read
// every row that is being dialed.

/** Claims UNKNOWN rows of an idempotent provider, under the token as read, for the route they hold. */
const claimResend = `
UPDATE calls SET state = 'DIALING', reason = 'resent', token = j.value->>'token', attempt = j.value->>'attempt',
  due_at = j.value->>'deadline', resent = 1, claimed_at = j.value->>'at', updated_at = j.value->>'at', ${recordEntry}
FROM json_each(?1) AS j
WHERE calls.id = j.value->>'$.call.id' AND +state = 'UNKNOWN' AND token = j.value->>'resendOf'
  AND attempt + 1 = j.value->>'attempt'
  AND route->>'idempotent' = 1`;

const claimHeld = `
SELECT calls.id FROM json_each(?1) AS j CROSS JOIN calls ON calls.id = j.value->>'$.call.id'
WHERE +state = 'DIALING' AND token = j.value->>'token'`;

const settle = `
UPDATE calls SET state = j.value->>'state', reason = j.value->>'reason', due_at = j.value->>'dueAt',
  unknown_since = iif(j.value->>'state' = 'DEFERRED', NULL,
    coalesce(unknown_since, iif(j.value->>'state' = 'UNKNOWN', j.value->>'at', NULL))),
  provider_call_id = coalesce(j.value->>'providerCallId', provider_call_id),
  call = iif(j.value->>'state' = 'PLACED', NULL, call), updated_at = j.value->>'at', ${recordEntry}
FROM json_each(?1) AS j
WHERE calls.id = j.value->>'id' AND token = j.value->>'token' AND (${Object.entries(settleFrom)
  .map(
    ([to, from]) =>
      `(j.value->>'state' = '${to}' AND state IN (${from.map(quoted).join(", ")})` +
      `${to === "DEFERRED" || to === "REJECTED" ? " AND resent = 0" : ""})`,
  )
  .join(" OR ")})`;

const settleHeld = `
SELECT calls.id FROM json_each(?1) AS j CROSS JOIN calls ON calls.id = j.value->>'id'
WHERE +state = j.value->>'state' AND token = j.value->>'token'`;

/** Acts of operators; ?1 them. */
const act = `
UPDATE calls SET state = j.value->>'to', reason = '${operatorReason}', due_at = NULL, line = NULL,
  redialed_as = j.value->>'redialedAs', call = iif(j.value->>'to' = 'PLACED', NULL, call),
  updated_at = j.value->>'at', ${recordEntry}
FROM json_each(?1) AS j
WHERE calls.id = j.value->>'id' AND +state = j.value->>'from' AND (${Object.entries(actFrom)
  .map(([to, from]) => `(j.value->>'to' = '${to}' AND +state IN (${from.map(quoted).join(", ")}))`)
  .join(" OR ")})`;

const actHeld = `
SELECT calls.id FROM json_each(?1) AS j CROSS JOIN calls ON calls.id = j.value->>'id'
WHERE +state = j.value->>'to' AND redialed_as IS j.value->>'redialedAs'`;

const note = `
UPDATE calls SET ${recordEntry} FROM json_each(?1) AS j WHERE calls.id = j.value->>'id'`;

const deferFresh = `
INSERT INTO calls (id, state, reason, attempt, due_at, line, call, request_id, client, agent_id, number_hash,
  number_tail, accepted_at, updated_at, history)
SELECT value->>'$.call.id', value->>'state', value->>'reason', 0, value->>'dueAt', value->>'line', value->'call',
  value->>'$.call.requestId', value->>'$.call.client', value->>'$.call.request.agent_id',
  value->>'numberHash', value->>'numberTail', value->>'$.call.acceptedAt', value->>'at', ${firstHistory}
FROM json_each(?1) WHERE value->>'seenDueAt' IS NULL
ON CONFLICT (id) DO NOTHING
RETURNING id`;

const deferSeen = `
UPDATE calls SET state = j.value->>'state', reason = j.value->>'reason', due_at = j.value->>'dueAt',
  line = j.value->>'line', updated_at = j.value->>'at', ${recordEntry}
FROM json_each(?1) AS j
WHERE calls.id = j.value->>'$.call.id' AND +state = 'DEFERRED' AND +due_at = j.value->>'seenDueAt'
RETURNING calls.id`;

/**
 * Each line once, by leaps through the index (a plain DISTINCT would read every row that waits); ended by a NULL.
 */
const allLines = `
WITH RECURSIVE leap(line) AS (
  SELECT min(line) FROM calls WHERE due_at IS NOT NULL
  UNION ALL
  SELECT (SELECT min(line) FROM calls WHERE due_at IS NOT NULL AND line > leap.line) FROM leap
  WHERE leap.line IS NOT NULL)
SELECT line FROM leap WHERE line IS NOT NULL`;

/** The ledger in Cloudflare D1. Its tables are those of infra/d1. */
export function createD1Ledger(database: D1Database): CallLedger {
  /** Runs `statements` over the items in one transaction; answers which ids any of them returned. */
  async function write<Item>(statements: string[], items: Item[], idOf: (item: Item) => string) {
    const bound = inChunks(items).flatMap((json) =>
      statements.map((sql) => database.prepare(sql).bind(json)),
    );
    const results = await database.batch<{ id: string }>(bound);
    const done = new Set(results.flatMap((result) => result.results.map(({ id }) => id)));
    return items.map((item) => done.has(idOf(item)));
  }

  return {
    async read(ids) {
      const { results } = await database
        .prepare("SELECT * FROM calls WHERE id IN (SELECT value FROM json_each(?1))")
        .bind(JSON.stringify(ids))
        .all<D1Row>();
      return new Map(results.map((row) => [row.id, fromD1(row)]));
    },
    claim(claims) {
      const statements = claims.some(({ resendOf }) => resendOf !== undefined)
        ? [claimFresh, claimResend, claimHeld]
        : [claimFresh, claimHeld];
      return write(statements, withEntries(claims, claimEntryOf), ({ call }) => call.id);
    },
    settle(settlements) {
      return write([settle, settleHeld], withEntries(settlements, entryOf), ({ id }) => id);
    },
    defer(writes) {
      const statements = writes.some(({ seenDueAt }) => seenDueAt !== null)
        ? [deferFresh, deferSeen]
        : [deferFresh];
      return write(statements, withEntries(writes, entryOf), ({ call }) => call.id);
    },
    act(acts) {
      const writes = acts.map((one) => ({ ...one, entry: actEntryOf(one) }));
      return write([act, actHeld], writes, ({ id }) => id);
    },
    async note(notes) {
      await database.prepare(note).bind(JSON.stringify(notes)).run();
    },
    async due({ until, after, line = null, limit }) {
      const { results } = await database
        .prepare(
          `SELECT id, state, reason, token, attempt, route, request_id, agent_id, due_at FROM calls
           WHERE due_at IS NOT NULL AND line IS ?5 AND due_at <= ?1 AND (due_at, id) > (?2, ?3)
           ORDER BY due_at, id LIMIT ?4`,
        )
        .bind(until, after?.dueAt ?? -1, after?.id ?? "", limit, line)
        .all<D1Row & { due_at: number }>();
      return results.map((row): DueRow => ({
        id: row.id,
        state: row.state,
        reason: row.reason,
        token: row.token,
        attempt: row.attempt,
        route: routeFrom(row.route),
        requestId: row.request_id,
        agentId: row.agent_id,
        dueAt: row.due_at,
      }));
    },
    async sweptAt() {
      const found = await database.prepare("SELECT at FROM sweeps").first<{ at: number }>();
      return found?.at;
    },
    async swept(at) {
      await database
        .prepare(
          "INSERT INTO sweeps (id, at) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET at = excluded.at",
        )
        .bind(at)
        .run();
    },
    async lines() {
      const { results } = await database.prepare(allLines).all<{ line: string }>();
      return results.map(({ line }) => line);
    },
    async list({ before, limit, ...of }) {
      const [column, value] = placeOf(of);
      const { results } = await database
        .prepare(
          `SELECT * FROM calls WHERE ${column} = ?1 AND (accepted_at, id) < (?2, ?3)
           ORDER BY accepted_at DESC, id DESC LIMIT ?4`,
        )
        .bind(value, before?.acceptedAt ?? Number.MAX_SAFE_INTEGER, before?.id ?? "", limit)
        .all<D1Row>();
      return results.map(fromD1);
    },
    async ended(before, limit) {
      const { results } = await database
        .prepare(
          `SELECT id, state FROM calls
           WHERE state NOT IN ('DEFERRED', 'DIALING') AND updated_at < ?1 LIMIT ?2`,
        )
        .bind(before, limit)
        .all<Pick<CallRow, "id" | "state">>();
      return results;
    },
    async purge(ids, before, now) {
      await database.batch([
        database.prepare("DELETE FROM idempotency_keys WHERE expires_at <= ?1").bind(now),
        database.prepare("DELETE FROM orders WHERE expires_at <= ?1").bind(now),
        database.prepare("DELETE FROM operator_acts WHERE at < ?1").bind(before),
        database.prepare("DELETE FROM state_counts WHERE hour < ?1 / 3600000").bind(before),
        database
          .prepare("DELETE FROM counted_calls WHERE at <= ?1")
          .bind(now - capDaysMax * 86_400_000),
        database
          .prepare(
            `DELETE FROM calls WHERE id IN (SELECT value FROM json_each(?1))
             AND +state NOT IN ('DEFERRED', 'DIALING') AND +updated_at < ?2`,
          )
          .bind(JSON.stringify(ids), before),
      ]);
    },

    ...createD1Operator(database),
    ...createD1Limits(database),
  };
}

/** The column of an index, and the value in it, that a list is of. */
function placeOf(of: { state: CallState } | { requestId: string } | { numberHash: string }) {
  if ("state" in of) return ["state", of.state];
  return "requestId" in of ? ["request_id", of.requestId] : ["number_hash", of.numberHash];
}

/** Writes, each beside what it adds to its row's history. */
function withEntries<Write extends { unrecorded?: boolean | undefined }>(
  writes: Write[],
  entryFor: (write: Write) => HistoryEntry,
) {
  return writes.map((one) => (one.unrecorded === true ? one : { ...one, entry: entryFor(one) }));
}

/** JSON arrays of the items in their order, each small enough for one parameter. */
function inChunks(items: unknown[]): string[] {
  const chunks: string[] = [];
  let chunk: string[] = [];
  let bytes = 0;
  for (const item of items) {
    const json = JSON.stringify(item);
    const length = Buffer.byteLength(json);
    if (chunk.length > 0 && bytes + length > parameterBytesMax) {
      chunks.push(`[${chunk.join()}]`);
      chunk = [];
      bytes = 0;
    }
    chunk.push(json);
    bytes += length;
  }
  if (chunk.length > 0) chunks.push(`[${chunk.join()}]`);
  return chunks;
}

interface D1Row {
  id: string;
  state: CallRow["state"];
  reason: string;
  token: string | null;
  attempt: number;
  resent: number;
  due_at: number | null;
  line: string | null;
  claimed_at: number | null;
  unknown_since: number | null;
  call: string | null;
  route: string | null;
  provider_call_id: string | null;
  redialed_as: string | null;
  request_id: string;
  client: string;
  agent_id: string;
  number_hash: string;
  number_tail: string;
  accepted_at: number;
  updated_at: number;
  history: string;
}

function fromD1(row: D1Row): CallRow {
  return {
    id: row.id,
    state: row.state,
    reason: row.reason,
    token: row.token,
    attempt: row.attempt,
    resent: row.resent === 1,
    dueAt: row.due_at,
    line: row.line,
    claimedAt: row.claimed_at,
    unknownSince: row.unknown_since,
    call: callFrom(row.call),
    route: routeFrom(row.route),
    providerCallId: row.provider_call_id,
    redialedAs: row.redialed_as,
    requestId: row.request_id,
    client: row.client,
    agentId: row.agent_id,
    numberHash: row.number_hash,
    numberTail: row.number_tail,
    acceptedAt: row.accepted_at,
    updatedAt: row.updated_at,
    history: JSON.parse(row.history),
  };
}

// JSON that this adapter wrote is read back as what it wrote.
function callFrom(json: string | null): CallRow["call"] {
  return json === null ? null : JSON.parse(json);
}

function routeFrom(json: string | null): CallRow["route"] {
  return json === null ? null : JSON.parse(json);
}
