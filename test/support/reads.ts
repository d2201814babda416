import type { CallRow } from "#shared/calls/call-row.ts";
import type { Kind, StoredDocument } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import { requireReadable, type RowsRead } from "#shared/ports/unreadable.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";

/** Reads one row, which this version must be able to read. */
export async function readRow(
  ledger: Pick<CallLedger, "read">,
  id: string,
): Promise<CallRow | undefined> {
  return requireReadable((await ledger.read([id])).get(id));
}

/** Reads the rows that this version can read, by their ids. */
export async function readRows(
  ledger: Pick<CallLedger, "read">,
  ids: readonly string[],
): Promise<Map<string, CallRow>> {
  return byId(await ledger.read(ids));
}

/** Returns rows that were read by their ids. */
export function byId<Row extends { id: string }>({ rows }: RowsRead<Row>): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

/** Lists the documents that this version can read. */
export async function listDocuments<K extends Kind>(
  documents: Pick<Documents, "list">,
  kind: K,
  query: Parameters<Documents["list"]>[1],
): Promise<StoredDocument<K>[]> {
  return (await documents.list(kind, query)).filter((one) => isReadable(one));
}
