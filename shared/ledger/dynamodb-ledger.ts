import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { CallRow } from "../calls/call-row.ts";
import type { CallLedger, Change, DuePlace } from "./call-ledger.ts";
import { allEnded, createDynamoItems, text, textIn } from "./dynamodb-items.ts";
import { createDynamoLists } from "./dynamodb-lists.ts";
import { dueHashesOf, dueKeyOf, itemOf, keyOfCall, placeOf, rowOf } from "./dynamodb-rows.ts";

/**
 * Time after its retention at which DynamoDB deletes a row. Until then the purge can log rows that were never
 * resolved.
 */
const graceMs = 7 * 86_400_000;

/**
 * Creates the ledger in DynamoDB; dynamodb-table.ts describes its table.
 *
 * @param retentionMs time that the dial plan keeps a row after its call was accepted
 * @param now clock by which lists begin with the newest hour, in milliseconds since the epoch
 */
export function createDynamoLedger(
  client: DynamoDBClient,
  table: string,
  retentionMs: number,
  now: () => number = Date.now,
): CallLedger {
  const items = createDynamoItems(client, table);
  const rowsStandMs = retentionMs + graceMs;

  const read: CallLedger["read"] = async (ids) => {
    const rows = new Map<string, CallRow>();
    const unreadable = new Set<string>();
    for (const item of await items.getAll(ids.map(keyOfCall))) {
      const row = rowOf(item);
      if (row === undefined) unreadable.add(textIn(item, "sk"));
      else rows.set(row.id, row);
    }
    return { rows, unreadable };
  };

  async function writeOne({ next, seen }: Change): Promise<boolean> {
    const condition =
      seen === null
        ? { expression: "attribute_not_exists(#pk)" }
        : { expression: "#version = :seen", values: { ":seen": text(seen) } };
    if (await items.put(itemOf(next, next.acceptedAt + rowsStandMs), condition)) return true;
    // The SDK repeats a write whose answer was lost, and the repetition is refused because the first try took
    // effect.
    const standing = await items.get(keyOfCall(next.id));
    return standing !== undefined && textIn(standing, "version") === next.version;
  }

  return {
    read,
    async write(changes) {
      // Two changes of one id are two writes, the second of which sees the first.
      const byId = Map.groupBy(changes, ({ next }) => next.id);
      const stands = new Map<Change, boolean>();
      await allEnded([...byId.values()], async (ofOneId) => {
        for (const change of ofOneId) stands.set(change, await writeOne(change));
      });
      return changes.map((change) => stands.get(change) === true);
    },
    due({ backlogs, until, each }) {
      return allEnded(backlogs, async ({ key, after }): Promise<DuePlace[]> => {
        const range = {
          after: after === undefined ? undefined : dueKeyOf(after),
          before: dueKeyOf({ dueAt: until, id: "~" }),
          limit: each,
        };
        return (await items.queryAll("due", dueHashesOf(key), range)).map(placeOf);
      });
    },
    ...createDynamoLists({ items, read, now, rowsStandMs }),
    purge: (ids) => items.remove(ids.map(keyOfCall)),
  };
}
