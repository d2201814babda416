import { unreadable } from "../ports/unreadable.ts";
import type { CallRow } from "../calls/call-row.ts";
import { outlivesRetention, pendingKeptMs } from "../events/outbox-rows.ts";
import { firstCallIdAt, timeOfId } from "../calls/ids.ts";
import { attentionStates, type CallState } from "../calls/states.ts";
import type { CallLedger, ListOf, Page } from "../ports/ledger.ts";
import { type DynamoItems, textIn } from "./dynamodb-items.ts";
import {
  attentionHashesOf,
  clientCampaignOf,
  requestHashesOf,
  weekHashesOf,
  weekOf,
  weekQueries,
} from "./dynamodb-rows.ts";
import type { IndexName } from "./dynamodb-table.ts";
import { weekMs } from "../lib/units.ts";

/** Maximum rows that one page examines. */
const looksMax = 500;
/** Rows that are read at once while a page searches for those of one state. */
const looksAtOnce = 100;
/** Maximum queries of one page that finds few calls: eight weeks. */
const queriesMax = 8 * weekQueries;
/** Tolerated lead of the clock that made an id. */
const clockSkewMs = 300_000;

interface ListDeps {
  items: Pick<DynamoItems, "queryAll">;
  read: CallLedger["read"];
  /** Current time in milliseconds since the epoch. */
  now: () => number;
  /** Time for which a row is kept after its call was accepted. */
  rowsStandMs: number;
}

/** Creates the lists of the ledger: keys come from the indexes, rows from the table as they stand now. */
export function createDynamoLists(
  deps: ListDeps,
): Pick<CallLedger, "list" | "listOldest" | "ended"> {
  const { items } = deps;

  /** Lists calls for which `isListed` holds, by time. */
  async function listByTime(
    { before, limit }: { before?: string | undefined; limit: number },
    looks: number,
    isListed: (row: CallRow) => boolean,
  ): Promise<Page> {
    const { ids, next } = await readIdsBelow(before, looks, deps);
    const rows: CallRow[] = [];
    let skipped = 0;
    for (let start = 0; start < ids.length && rows.length <= limit; start += looksAtOnce) {
      const found = await readRows(ids.slice(start, start + looksAtOnce), deps);
      rows.push(...found.rows.filter(isListed));
      skipped += found.unreadable;
    }
    if (rows.length <= limit) return { rows, unreadable: skipped, next };
    const page = rows.slice(0, limit);
    return { rows: page, unreadable: skipped, next: page.at(-1)?.id };
  }

  return {
    async list({ before, limit, ...of }) {
      if ("all" in of) return listByTime({ before, limit }, limit, () => true);
      if ("state" in of && !attentionStates.includes(of.state)) {
        return listByTime({ before, limit }, looksMax, ({ state }) => state === of.state);
      }
      const { index, hashes, after, below = "~" } = positionOf(of);
      const end = before === undefined || below < before ? below : before;
      const range = { after, before: end, descending: true, limit };
      const state = "state" in of ? of.state : undefined;
      return listByIndex({ index, hashes, state }, range, deps);
    },
    listOldest({ state, after, limit }) {
      const at = { index: "attention", hashes: attentionHashesOf(state), state } as const;
      return listByIndex(at, { after, limit }, deps);
    },
    async ended({ before, after, limit }) {
      const hashes = attentionStates.flatMap(attentionHashesOf);
      const range = { after, before: firstCallIdAt(before), limit };
      const found = await items.queryAll("attention", hashes, range);
      const { rows } = await readRows(
        found.map((item) => textIn(item, "sk")),
        deps,
      );
      return {
        rows: rows
          .filter((row) => row.acceptedAt < before && attentionStates.includes(row.state))
          .filter((row) => !outlivesRetention(row) || row.acceptedAt < before - pendingKeptMs)
          .map(({ id, state }) => ({ id, state })),
        next: found.length < limit ? undefined : textIn(found.at(-1) ?? {}, "sk"),
      };
    },
  };
}

async function readRows(
  ids: readonly string[],
  { read }: ListDeps,
): Promise<{ rows: CallRow[]; unreadable: number }> {
  const found = await read(ids);
  const rows = ids.flatMap((id) => {
    const row = found.get(id);
    return row === undefined || row === unreadable ? [] : row;
  });
  return { rows, unreadable: found.unreadable.size };
}

/** Lists calls by an index. It lags behind the table: a row may be in another state than that of the list by now. */
async function listByIndex(
  { index, hashes, state }: { index: IndexName; hashes: string[]; state?: CallState | undefined },
  range: Parameters<DynamoItems["queryAll"]>[2] & { limit: number },
  deps: ListDeps,
): Promise<Page> {
  const found = await deps.items.queryAll(index, hashes, range);
  const { rows, unreadable: skipped } = await readRows(
    found.map((item) => textIn(item, "sk")),
    deps,
  );
  return {
    rows: state === undefined ? rows : rows.filter((row) => row.state === state),
    unreadable: skipped,
    next: found.length < range.limit ? undefined : textIn(found.at(-1) ?? {}, "sk"),
  };
}

/**
 * Reads ids below `before`, newest first: week by week downwards, until there are `limit`, the retention ends, or one
 * page has made its maximum queries. `next` is absent if no more ids can follow.
 */
async function readIdsBelow(
  before: string | undefined,
  limit: number,
  { items, now, rowsStandMs }: ListDeps,
) {
  const ids: string[] = [];
  const oldest = weekOf(now() - rowsStandMs);
  const newest = weekOf(now() + clockSkewMs);
  let week = before === undefined ? newest : Math.min(newest, weekBelow(before));
  for (let queries = 0; queries < queriesMax; queries += weekQueries) {
    if (week < oldest) return { ids, next: undefined };
    const range = { before, descending: true, limit: limit - ids.length };
    const found = await items.queryAll("week", weekHashesOf(week), range);
    ids.push(...found.map((item) => textIn(item, "sk")));
    if (ids.length === limit) return { ids, next: ids.at(-1) };
    week -= 1;
  }
  return { ids, next: firstCallIdAt((week + 1) * weekMs) };
}

/** Returns the last week in which there may be ids below one: where a page ended with a week, the one before it. */
function weekBelow(id: string): number {
  const time = timeOfId(id);
  return weekOf(id === firstCallIdAt(time) ? time - 1 : time);
}

/** Returns the index and hash keys that hold the keys of a list. */
function positionOf(of: Exclude<ListOf, { all: true }>): {
  index: IndexName;
  hashes: string[];
  after?: string;
  below?: string;
} {
  if ("state" in of) return { index: "attention", hashes: attentionHashesOf(of.state) };
  if ("numberHash" in of) return { index: "number", hashes: [of.numberHash] };
  if ("client" in of) {
    const { client, campaign } = of;
    if (campaign === undefined) return { index: "client", hashes: requestHashesOf(client) };
    const hashes = requestHashesOf(clientCampaignOf(client, campaign));
    return { index: "clientCampaign", hashes };
  }
  if ("campaign" in of) return { index: "campaign", hashes: requestHashesOf(of.campaign) };
  if ("agentId" in of) return { index: "agent", hashes: requestHashesOf(of.agentId) };
  const prefix = `call_${of.requestId}_`;
  const hashes = weekHashesOf(weekOf(timeOfId(of.requestId)));
  return { index: "week", hashes, after: prefix, below: `${prefix}~` };
}
