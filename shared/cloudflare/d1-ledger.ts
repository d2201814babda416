import { toRowsRead } from "../ports/unreadable.ts";
import type { CallRow } from "../calls/call-row.ts";
import { dialingPrefix, dialingIn } from "../calls/lane.ts";
import { attentionStates, type CallState, statesWhere } from "../calls/states.ts";
import { awaitedStates, pendingKeptMs, pendingOf } from "../events/outbox-rows.ts";
import { firstCallIdAt } from "../calls/ids.ts";
import {
  type CallLedger,
  type Change,
  type DuePosition,
  type ListOf,
  type Page,
} from "../ports/ledger.ts";
import {
  positionColumns,
  rowColumns,
  rowColumnsWithoutContext,
  rowStatements,
  type StoredRow,
  toRow,
  toRowJson,
} from "./d1-rows.ts";
import { inParameters, queryOn, queryParts, writeVersioned } from "./d1-writes.ts";

/**
 * Maximum rows that one page examines. If too few of them match, as many are read again to find where the next page
 * begins.
 */
const looksMax = 2500;

const quoted = (states: readonly CallState[]) => states.map((state) => `'${state}'`).join(", ");
/** The condition of the index `calls_attention`: SQLite uses a partial index only if a query repeats it. */
const inAttention = `state IN (${quoted(attentionStates)})`;
const purgedStates = statesWhere(({ purge: how }) => how !== "never");

const byIds = "FROM calls WHERE id IN (SELECT value FROM json_each(?1))";
const read = `SELECT ${rowColumns} ${byIds}`;
const readWithoutContext = `SELECT ${rowColumnsWithoutContext} ${byIds}`;

/**
 * Reads only the index, as the names of these backlogs contain the account, client and agent. `;` follows `:` in
 * ASCII.
 */
const dialing = `
SELECT id, due_at AS dueAt, lane FROM calls
WHERE lane >= '${dialingPrefix}' AND lane < '${dialingPrefix.replace(":", ";")}' LIMIT ?1`;

/**
 * ?1 the lanes, ?2 the latest due time, ?3 the maximum rows of each. One index seek for each lane. The
 * positions of a lane are one value of at most 2 MB (D1's limit), at about 60 bytes each.
 */
const dueIn = (lane: string, time: string) => `
SELECT j.key AS lane, (
  SELECT json_group_array(json_array(${time}, id)) FROM (
    SELECT ${time}, id FROM calls
    WHERE ${lane} = j.value->>'key' AND (${time}, id) > (j.value->>'dueAt', j.value->>'id') AND ${time} <= ?2
    ORDER BY ${time}, id LIMIT ?3)) AS positions
FROM json_each(?1) AS j`;
const due = {
  calls: dueIn("lane", "due_at"),
  events: dueIn("deliver_to", "deliver_at"),
  "client-receiver-events": dueIn("client_receiver_to", "client_receiver_at"),
};

/**
 * Rows of state ?2 below ?1, at most ?3, among the newest `looksMax`. If these yield fewer, the last examined
 * one follows as a null row: the next page begins there. SQLite evaluates the parts one after another and
 * stops at the limit, so a page that fills early reads little. A last ORDER BY or a window function would
 * read all parts.
 */
const listOfState = `
SELECT * FROM (
  SELECT ${rowColumns} FROM (SELECT * FROM calls WHERE id < ?1 ORDER BY id DESC LIMIT ${looksMax}) WHERE state = ?2)
UNION ALL SELECT ${positionColumns} FROM (
  SELECT id FROM calls WHERE id < ?1 ORDER BY id DESC LIMIT 1 OFFSET ${looksMax - 1})
LIMIT ?3`;

/** Rows after ?1 and below ?2, accepted before ?3, at most ?4; bounded like `listOfState`. */
const ended = `
SELECT id, state FROM (
  SELECT id, state, due_at, deliver_to, accepted_at FROM calls WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ${looksMax})
WHERE state IN (${quoted(purgedStates)}) AND accepted_at < CASE
  WHEN deliver_to GLOB '${pendingOf("*")}' OR (due_at IS NOT NULL AND state IN (${quoted(awaitedStates)})) THEN ?3 - ${pendingKeptMs} ELSE ?3 END
UNION ALL SELECT id, NULL FROM (
  SELECT id FROM calls WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT 1 OFFSET ${looksMax - 1})
LIMIT ?4`;

const purge = "DELETE FROM calls WHERE id IN (SELECT value FROM json_each(?1))";

/** Lists the due rows of lanes, in their order. The keys of thousands of lanes need several statements. */
async function listDue(
  { of = "calls", lanes, until, each }: Parameters<CallLedger["due"]>[0],
  all: ReturnType<typeof queryOn>,
): Promise<DuePosition[][]> {
  const parts = inParameters(
    lanes.map(({ key, after }) => JSON.stringify({ key, ...(after ?? { dueAt: -1, id: "" }) })),
  );
  const found = await queryParts<Due>(all, { sql: due[of], parts }, until, each);
  return parts.flatMap((part, n) => {
    const positionsBy = new Map(found[n]?.map((one) => [one.lane, toPositions(one)]));
    return part.map((_, index) => positionsBy.get(index) ?? []);
  });
}

/** Creates the ledger in Cloudflare D1; infra/d1 has its table. */
export function createD1Ledger(database: D1Database): CallLedger {
  const all = queryOn(database);

  async function readBy(sql: string, ids: readonly string[]) {
    const parts = inParameters(ids.map((id) => JSON.stringify(id)));
    const found = (await queryParts<Stored>(all, { sql, parts })).flat();
    const rows = found.map(rowsOf);
    const unreadable = found.filter((_, index) => rows[index]?.length === 0);
    return toRowsRead(
      rows.flat(),
      unreadable.map(({ id }) => id),
    );
  }

  return {
    read: (ids) => readBy(read, ids),
    readWithoutContext: (ids) => readBy(readWithoutContext, ids),
    async dialing(limit) {
      const found = await all<DuePosition & { lane: string }>(dialing, limit);
      return found.map(({ id, dueAt, lane }) => ({
        id,
        dueAt,
        ...dialingIn(lane),
      }));
    },
    write: (changes) => writeVersioned(database, rowStatements, { writes: changes.map(writeOf) }),
    due: (asked) => listDue(asked, all),
    async list({ before = "~", limit, ...of }) {
      if ("state" in of && !attentionStates.includes(of.state)) {
        const found = await all<Stored>(listOfState, before, of.state, limit);
        return pageOf(found, found.length === limit || found.at(-1)?.row === null);
      }
      const { condition, values = [], below = before } = conditionOf(of);
      const sql = `SELECT ${rowColumns} FROM calls WHERE id < ?1 AND ${condition} ORDER BY id DESC LIMIT ?2`;
      const found = await all<Stored>(sql, before < below ? before : below, limit, ...values);
      return pageOf(found, found.length === limit);
    },
    async listOldest({ state, after = "", limit }) {
      const { condition } = conditionOf({ state });
      const sql = `SELECT ${rowColumns} FROM calls WHERE id > ?1 AND ${condition} ORDER BY id LIMIT ?2`;
      const found = await all<Stored>(sql, after, limit);
      return pageOf(found, found.length === limit);
    },
    async ended({ before, after = "", limit }) {
      const found = await all<Ended>(ended, after, firstCallIdAt(before), before, limit);
      const rows = found.flatMap(({ id, state }) => (state === null ? [] : [{ id, state }]));
      const isMore = found.length === limit || found.at(-1)?.state === null;
      return { rows, next: isMore ? found.at(-1)?.id : undefined };
    },
    async purge(ids) {
      await all(purge, JSON.stringify(ids));
    },
  };
}

/** A row, or the position of one that was examined but is not of the list. */
type Stored = StoredRow | { id: string; row: null };

interface Ended {
  id: string;
  /** Null: the row was examined but is not of the list. */
  state: CallState | null;
}

interface Due {
  /** Index of the lane in the query. */
  lane: number;
  positions: string;
}

function toPositions({ positions }: Due): DuePosition[] {
  const pairs: [dueAt: number, id: string][] = JSON.parse(positions);
  return pairs.map(([dueAt, id]) => ({ dueAt, id }));
}

function writeOf({ next, seen }: Change) {
  const { id, version } = next;
  return { name: id, version, seen, json: toRowJson(next, seen) };
}

/** Parses a row; empty if this version cannot read it. */
function rowsOf(stored: Stored): CallRow[] {
  const row = stored.row === null ? undefined : toRow(stored);
  return row === undefined ? [] : [row];
}

/** Returns the SQL condition of a list's rows, in which `values` are ?3 and ?4, and an id that is above all of theirs. */
function conditionOf(of: ListOf): { condition: string; values?: string[]; below?: string } {
  if ("state" in of) return { condition: `state = '${of.state}' AND ${inAttention}` };
  if ("numberHash" in of) return { condition: "number_hash = unhex(?3)", values: [of.numberHash] };
  if ("client" in of) {
    const { client, campaign } = of;
    if (campaign === undefined) return { condition: "client = ?3", values: [client] };
    return { condition: "client = ?3 AND campaign = ?4", values: [client, campaign] };
  }
  if ("campaign" in of) return { condition: "campaign = ?3", values: [of.campaign] };
  if ("agentId" in of) return { condition: "agent_id = ?3", values: [of.agentId] };
  if ("all" in of) return { condition: "true" };
  const prefix = `call_${of.requestId}_`;
  return { condition: "id > ?3", values: [prefix], below: `${prefix}~` };
}

function pageOf(found: Stored[], isMore: boolean): Page {
  const rows = found.flatMap(rowsOf);
  const unreadable = found.filter(({ row }) => row !== null).length - rows.length;
  return { rows, unreadable, next: isMore ? found.at(-1)?.id : undefined };
}
