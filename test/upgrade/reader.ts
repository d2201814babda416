/**
 * Reads what this version has stored. `npm run fixture` bundles it beside the fixture, so that a later version can
 * check that this one, after a roll-back, reads what the later one has written.
 */
import { toStoredText } from "#shared/aws/dynamodb-document-items.ts";
import type { Item } from "#shared/aws/dynamodb-client.ts";
import { toRow } from "#shared/aws/dynamodb-rows.ts";
import { type StoredRow, toRow as toD1Row } from "#shared/cloudflare/d1-rows.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { messageSchema } from "#shared/ports/call-messages.ts";
import { type Kind, parseValue } from "#shared/ports/document-kinds.ts";
import { eventMessageSchema } from "#shared/ports/event-messages.ts";

/** A table's rows or items, as JSON. */
type Stored = Record<string, unknown>;

interface ReadDocument {
  kind: string;
  key: string;
  value: Record<string, unknown>;
}

/** Reads a row of D1's table `calls`; undefined if only another version can. */
export function readD1Row(stored: Stored): CallRow | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the columns are those of a stored row
  return toD1Row(stored as StoredRow);
}

/** Reads a row of D1's table `documents`. @throws if only another version can */
export function readD1Document({ kind, key, value }: Stored): ReadDocument {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an unknown kind throws
  const parsed = parseValue(kind as Kind, JSON.parse(String(value)));
  return { kind: String(kind), key: String(key), value: parsed };
}

/** Reads an item of a call; undefined if only another version can. */
export function readItem(item: Item): CallRow | undefined {
  return toRow(item);
}

/** Reads an item of a document. @throws if only another version can */
export function readDocumentItem(item: Item): ReadDocument {
  const [, name = ""] = item["pk"]?.S?.split("#") ?? [];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an unknown kind throws
  const kind = name as Kind;
  const { key, json } = toStoredText(kind, item);
  return { kind, key, value: parseValue(kind, JSON.parse(json)) };
}

/** Reads a body of the call queue. @throws if only another version can */
export function readMessage(body: string): { kind: string } {
  return messageSchema.parse(JSON.parse(body));
}

/** Reads a body of the events queue. @throws if only another version can */
export function readEventMessage(body: string): { kind: string } {
  return eventMessageSchema.parse(JSON.parse(body));
}
