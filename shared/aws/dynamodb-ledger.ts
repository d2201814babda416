import { toRowsRead } from "../ports/unreadable.ts";
import type { CallRow } from "../calls/call-row.ts";
import type { CallLedger, DuePosition } from "../ports/ledger.ts";
import type { DynamoClient } from "./dynamodb-client.ts";
import { allEnded, createDynamoItems, textIn } from "./dynamodb-items.ts";
import { createDynamoLists } from "./dynamodb-lists.ts";
import { dynamoTable } from "./dynamodb-table.ts";
import {
  dialingHashes,
  toDialing,
  dueHashesOf,
  dueKeyOf,
  toItem,
  keyOfCall,
  toPosition,
  toRow,
  deliverHashesOf,
} from "./dynamodb-rows.ts";
import { writeVersioned } from "./dynamodb-writes.ts";
import { dayMs } from "../lib/units.ts";

/** Time from a row's retention to its deletion by DynamoDB, in which the purge logs unresolved rows. */
const usualGraceMs = 7 * dayMs;

/** Indexes of what is due, by what it is of. */
const dueIndexes = {
  calls: "due",
  events: "events",
  "client-receiver-events": "clientReceiverEvents",
} as const;

/**
 * Creates the ledger in DynamoDB; dynamodb-table.ts describes its table.
 *
 * @param options.retentionMs time that the dial plan keeps a row after its call was accepted
 * @param options.graceMs time for which a row stands after that, until DynamoDB deletes it
 * @param options.now clock by which lists begin with the newest hour, in milliseconds since the epoch
 */
export function createDynamoLedger(
  client: DynamoClient,
  table: string,
  {
    retentionMs,
    graceMs = usualGraceMs,
    now = Date.now,
  }: { retentionMs: number; graceMs?: number; now?: () => number },
): CallLedger {
  const items = createDynamoItems(client, table);
  const rowsStandMs = retentionMs + graceMs;

  const read: CallLedger["read"] = async (ids) => {
    const rows: CallRow[] = [];
    const unreadable: string[] = [];
    for (const item of await items.getAll(ids.map(keyOfCall))) {
      const row = toRow(item);
      if (row === undefined) unreadable.push(textIn(item, "sk"));
      else rows.push(row);
    }
    return toRowsRead(rows, unreadable);
  };

  return {
    read,
    // The row is one value, so its context is read and dropped.
    async readWithoutContext(ids) {
      const { rows, unreadable } = await read(ids);
      const withoutContext = rows.map((row): CallRow => {
        if (row.request === null) return row;
        const { context: _, ...request } = row.request;
        return { ...row, request };
      });
      return toRowsRead(withoutContext, unreadable);
    },
    async dialing(limit) {
      return (await items.queryAll("due", dialingHashes(), { limit })).map(toDialing);
    },
    write(changes) {
      const writes = changes.map(({ next, seen }) => ({
        item: toItem(next, next.acceptedAt + rowsStandMs),
        seen,
      }));
      // Only `ttl` ends a row.
      return writeVersioned(items, writes, { now, mayExpire: false });
    },
    due({ of = "calls", lanes, until, each }) {
      const index = dueIndexes[of];
      const { rangeKey } = dynamoTable.indexes[index];
      return allEnded(lanes, async ({ key, after }): Promise<DuePosition[]> => {
        const range = {
          after: after === undefined ? undefined : dueKeyOf(after),
          before: dueKeyOf({ dueAt: until, id: "~" }),
          limit: each,
        };
        const hashes = of === "calls" ? dueHashesOf(key) : deliverHashesOf(key);
        const found = await items.queryAll(index, hashes, range);
        return found.map((item) => toPosition(item, rangeKey));
      });
    },
    ...createDynamoLists({ items, read, now, rowsStandMs }),
    purge: (ids) => items.remove(ids.map(keyOfCall)),
  };
}
