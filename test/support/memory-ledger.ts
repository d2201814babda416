import type { CallRow } from "#shared/calls/call-row.ts";
import { dialingPrefix, dialingIn } from "#shared/calls/lane.ts";
import { frozen } from "./frozen.ts";
import { parseRow, toStoredRow } from "#shared/ports/stored-row.ts";
import { outlivesRetention, pendingKeptMs } from "#shared/events/outbox-rows.ts";
import { toRowsRead } from "#shared/ports/unreadable.ts";
import { states } from "#shared/calls/states.ts";
import { firstCallIdAt, requestIdOf } from "#shared/calls/ids.ts";
import {
  type CallLedger,
  comparePositions,
  type DuePosition,
  type ListOf,
  requestListsOf,
} from "#shared/ports/ledger.ts";

/** A row as stored: JSON, as in the other adapters. */
interface Stored {
  id: string;
  version: string;
  json: string;
}

/** Rows as parsed, by what is stored. */
const parsed = new WeakMap<Stored, CallRow | undefined>();

function rowOf(one: Stored): CallRow | undefined {
  if (!parsed.has(one))
    parsed.set(one, frozen(parseRow(one.id, one.version, JSON.parse(one.json))));
  return parsed.get(one);
}

/** Rows as written, for the indexes: many are never read, and to parse each takes long. */
const written = new WeakMap<Stored, CallRow>();

/** Returns a row of which an index asks its places alone. */
function indexed(one: Stored): Partial<CallRow> {
  return written.get(one) ?? rowOf(one) ?? {};
}

/**
 * Creates a ledger in this process's memory, for tests. The rows that it returns are frozen.
 *
 * @param stored its contents; a test may read them, or add a row that no version of this code wrote
 */
export function createMemoryLedger(stored: Map<string, Stored> = new Map()): CallLedger {
  const calls = createIndex(stored, (one) => {
    const { lane = null, dueAt = null } = indexed(one);
    return lane === null || dueAt === null ? undefined : { list: lane, dueAt };
  });
  const events = createIndex(stored, (one) => {
    const { deliverTo = null, deliverAt = null } = indexed(one);
    return deliverTo === null || deliverAt === null
      ? undefined
      : { list: deliverTo, dueAt: deliverAt };
  });
  const clientReceiverEvents = createIndex(stored, (one) => {
    const { clientReceiverTo, clientReceiverAt } = indexed(one);
    return clientReceiverTo === undefined || clientReceiverAt === undefined
      ? undefined
      : { list: clientReceiverTo, dueAt: clientReceiverAt };
  });
  const indexes = { calls, events, "client-receiver-events": clientReceiverEvents };
  const rows = () => [...stored.values()].flatMap((one) => rowOf(one) ?? []);

  const read: CallLedger["read"] = async (ids) => {
    const found: CallRow[] = [];
    const unreadable: string[] = [];
    for (const id of ids) {
      const one = stored.get(id);
      if (one === undefined) continue;
      const row = rowOf(one);
      if (row === undefined) unreadable.push(id);
      else found.push(row);
    }
    return toRowsRead(found, unreadable);
  };

  return {
    read,
    async readWithoutContext(ids) {
      const { rows: found, unreadable } = await read(ids);
      return toRowsRead(found.map(withoutContext), unreadable);
    },
    async dialing(limit) {
      return calls
        .lists()
        .filter((list) => list.startsWith(dialingPrefix))
        .flatMap((list) =>
          calls
            .after(list, undefined, Infinity, limit)
            .map((place) => ({ ...place, ...dialingIn(list) })),
        )
        .slice(0, limit);
    },
    async write(changes) {
      return changes.map(({ next, seen }) => {
        const { id, version } = next;
        const current = stored.get(id)?.version ?? null;
        if (current === version) return true;
        if (current !== seen) return false;
        const one = { id, version, json: JSON.stringify(toStoredRow(next)) };
        written.set(one, next);
        stored.set(id, one);
        return true;
      });
    },
    async due({ of = "calls", lanes, until, each }) {
      return lanes.map(({ key, after }) => indexes[of].after(key, after, until, each));
    },
    async list({ before = "~", limit, ...of }) {
      const found = rows()
        .filter((row) => row.id < before && isOf(row, of))
        .toSorted((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit);
      const next = found.length < limit ? undefined : found.at(-1)?.id;
      const unreadable = [...stored.values()].filter((one) => rowOf(one) === undefined).length;
      return { rows: found, next, unreadable };
    },
    async listOldest({ state, after = "", limit }) {
      const found = rows()
        .filter((row) => row.id > after && row.state === state)
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .slice(0, limit);
      const next = found.length < limit ? undefined : found.at(-1)?.id;
      const unreadable = [...stored.values()].filter((one) => rowOf(one) === undefined).length;
      return { rows: found, next, unreadable };
    },
    async ended({ before, after = "", limit }) {
      const found = rows()
        .filter(
          ({ id, acceptedAt }) => id > after && id < firstCallIdAt(before) && acceptedAt < before,
        )
        .filter(({ state }) => states[state].purge !== "never")
        .filter((row) => !outlivesRetention(row) || row.acceptedAt < before - pendingKeptMs)
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .slice(0, limit)
        .map(({ id, state }) => ({ id, state }));
      return { rows: found, next: found.length < limit ? undefined : found.at(-1)?.id };
    },
    async purge(ids) {
      for (const id of ids) stored.delete(id);
    },
  };
}

function withoutContext(row: CallRow): CallRow {
  if (row.request?.context === undefined) return row;
  const { context: _, ...request } = row.request;
  return { ...row, request };
}

function isOf(row: CallRow, of: ListOf): boolean {
  if ("state" in of) return row.state === of.state;
  if ("requestId" in of) return requestIdOf(row.id) === of.requestId;
  if ("numberHash" in of) return row.numberHash === of.numberHash;
  if ("all" in of) return true;
  const lists = requestListsOf(row);
  if ("client" in of) {
    const { client, campaign = lists.campaign } = of;
    return lists.client === client && lists.campaign === campaign;
  }
  return "agentId" in of ? lists.agentId === of.agentId : lists.campaign === of.campaign;
}

/** An index of rows by a list and a time. */
interface Index {
  lists(): string[];
  /** Returns the first `limit` positions of a list behind `after` with a time up to `until`, in order. */
  after(list: string, after: DuePosition | undefined, until: number, limit: number): DuePosition[];
}

/** Creates an index that follows every change of the contents, whoever makes it. */
function createIndex(
  stored: Map<string, Stored>,
  positionOf: (one: Stored) => { list: string; dueAt: number } | undefined,
): Index {
  /** Where each row stands. Sorted positions that differ from it are left over from before. */
  const current = new Map<string, { list: string; dueAt: number }>();
  const lists = new Map<string, { sorted: DuePosition[]; added: DuePosition[]; count: number }>();
  const isCurrent = (list: string, { id, dueAt }: DuePosition) => {
    const at = current.get(id);
    return at?.list === list && at.dueAt === dueAt;
  };
  const leave = (id: string) => {
    const at = current.get(id);
    if (at === undefined) return;
    current.delete(id);
    const list = lists.get(at.list);
    if (list !== undefined && --list.count === 0) lists.delete(at.list);
  };
  const follow = (id: string, one: Stored | undefined) => {
    const at = one && positionOf(one);
    const before = current.get(id);
    if (before !== undefined && before.list === at?.list && before.dueAt === at.dueAt) return;
    leave(id);
    if (at === undefined) return;
    current.set(id, at);
    const list = lists.get(at.list) ?? { sorted: [], added: [], count: 0 };
    lists.set(at.list, list);
    list.added.push({ id, dueAt: at.dueAt });
    list.count += 1;
  };
  const { set, delete: remove, clear } = stored;
  stored.set = (id, one) => {
    Reflect.apply(set, stored, [id, one]);
    follow(id, one);
    return stored;
  };
  stored.delete = (id) => {
    leave(id);
    return Reflect.apply(remove, stored, [id]);
  };
  stored.clear = () => {
    for (const id of stored.keys()) leave(id);
    Reflect.apply(clear, stored, []);
  };
  for (const [id, one] of stored) follow(id, one);

  return {
    lists: () => [...lists.keys()],
    after(name, after, until, limit) {
      const list = lists.get(name);
      if (list === undefined) return [];
      if (list.added.length > 0 || list.sorted.length > list.count * 2 + 100) {
        const seen = new Set<string>();
        list.sorted = [...list.sorted, ...list.added]
          .filter((one) => isCurrent(name, one) && !seen.has(one.id) && seen.add(one.id))
          .toSorted(comparePositions);
        list.added = [];
      }
      const found: DuePosition[] = [];
      for (let at = countUpTo(list.sorted, after); at < list.sorted.length; at++) {
        const one = list.sorted[at];
        if (one === undefined || one.dueAt > until || found.length >= limit) break;
        if (isCurrent(name, one)) found.push({ dueAt: one.dueAt, id: one.id });
      }
      return found;
    },
  };
}

/** Returns the number of sorted positions up to and including `after`. */
function countUpTo(sorted: readonly DuePosition[], after: DuePosition | undefined): number {
  if (after === undefined) return 0;
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const one = sorted[middle];
    if (one !== undefined && comparePositions(one, after) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
