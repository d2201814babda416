import type { CallRow } from "../calls/call-row.ts";
import { requestListsOf } from "../ports/ledger.ts";
import { pack, unpack } from "../ports/packed.ts";
import { parseRow, toStoredRow } from "../ports/stored-row.ts";

/**
 * Fields of a row that are searched, each with its column, where alone it is stored. The column `row` has all other fields,
 * and `context` the call's context, which a look of the dispatcher must not read.
 */
const searched = [
  ["state", "state"],
  ["lane", "lane"],
  ["dueAt", "due_at"],
  ["deliverTo", "deliver_to"],
  ["deliverAt", "deliver_at"],
  ["clientReceiverTo", "client_receiver_to"],
  ["clientReceiverAt", "client_receiver_at"],
  ["acceptedAt", "accepted_at"],
] as const satisfies [keyof CallRow, string][];
const columns = searched.map(([, column]) => column);

/** Bytes travel as hexadecimal digits: JSON has none, and D1 returns a column of bytes as an array of numbers. */
const bytesFrom = (value: string) => `unhex(${value}->>'row'), unhex(${value}->>'context')`;

/** Statements of `writeVersioned`. Without `WHERE true`, SQLite's parser would take ON for a join's. */
export const rowStatements = {
  insert: `
INSERT INTO calls (id, version, number_hash, client, campaign, agent_id, ${columns.join(", ")}, row, context)
SELECT value->>'id', value->>'version', unhex(value->>'numberHash'), value->>'client', value->>'campaign', value->>'agentId',
  ${columns.map((name) => `value->>'${name}'`).join(", ")}, ${bytesFrom("value")} FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET version = excluded.version WHERE calls.version = excluded.version
RETURNING id AS name, version`,
  update: `
UPDATE calls SET version = j.value->>'version', ${columns.map((name) => `${name} = j.value->>'${name}'`).join(", ")},
  (row, context) = (${bytesFrom("j.value")}) FROM json_each(?1) AS j
WHERE calls.id = j.value->>'id' AND calls.version IN (j.value->>'seen', j.value->>'version')
RETURNING calls.id AS name, calls.version`,
};

/** Columns that a row is read from. */
export const rowColumns = `id, version, lower(hex(number_hash)) AS number_hash, ${columns.join(", ")}, hex(row) AS row, hex(context) AS context`;
export const rowColumnsWithoutContext = rowColumns.replace("hex(context)", "''");
/** As many columns, with the id alone. */
export const positionColumns = `id${", NULL".repeat(columns.length + 4)}`;

/** A row as `rowColumns` reads it. Its bytes are hexadecimal digits. */
export type StoredRow = Record<(typeof columns)[number], string | number | null> & {
  id: string;
  version: string;
  number_hash: string;
  row: string;
  /** Empty: the call has none, or none was read. */
  context: string;
};

/** Returns a row as JSON for `rowStatements`. `seen`: the version that was read; null: there was none. */
export function toRowJson(row: CallRow, seen: string | null): string {
  const { id, version, numberHash, request } = row;
  const rest: Record<string, unknown> = toStoredRow(row);
  for (const [field] of searched) delete rest[field];
  delete rest["numberHash"];
  const { context, ...others } = request ?? {};
  if (context !== undefined) rest["request"] = others;
  return JSON.stringify({
    id,
    version,
    seen,
    numberHash,
    ...(seen === null ? requestListsOf(row) : {}),
    ...Object.fromEntries(searched.map(([field, column]) => [column, row[field]])),
    row: hexOf(pack(rest)),
    ...(context === undefined ? {} : { context: hexOf(pack(context)) }),
  });
}

/** Parses a row. Undefined if this version cannot read it. */
export function toRow(stored: StoredRow): CallRow | undefined {
  const { id, version, number_hash: numberHash } = stored;
  const rest = unpack(Buffer.from(stored.row, "hex"));
  const context = stored.context === "" ? {} : unpack(Buffer.from(stored.context, "hex"));
  if (rest === undefined || context === undefined) return undefined;
  if (stored.context !== "") rest["request"] = { ...Object(rest["request"]), context };
  for (const [field, column] of searched) {
    if (stored[column] !== null) rest[field] = stored[column];
  }
  return parseRow(id, version, { ...rest, numberHash });
}

const hexOf = (packed: Uint8Array) => Buffer.from(packed).toString("hex");
