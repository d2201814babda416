import { type CallRow, parseRow, storedRow } from "../../shared/calls/call-row.ts";
import { isUntold, untoldKeptMs } from "../../shared/calls/events.ts";
import { firstCallIdAt, requestIdOf } from "../../shared/calls/ids.ts";
import {
  type CallLedger,
  comparePlaces,
  type DuePlace,
  type ListOf,
} from "../../shared/ledger/call-ledger.ts";

/** A row as stored: JSON, as in the other adapters. */
interface Stored {
  id: string;
  version: string;
  json: string;
}

/**
 * Creates a ledger in this process's memory, for tests.
 *
 * @param stored its contents; a test may read them, or add a row that no version of this code wrote
 */
export function createMemoryLedger(stored: Map<string, Stored> = new Map()): CallLedger {
  const rowOf = ({ id, version, json }: Stored) => parseRow(id, version, JSON.parse(json));
  /** Parsed rows of searches, which change none of them. */
  const parsed = new WeakMap<Stored, CallRow | undefined>();
  const searched = (one: Stored) => {
    if (!parsed.has(one)) parsed.set(one, rowOf(one));
    return parsed.get(one);
  };
  const rows = () => [...stored.values()].flatMap((one) => searched(one) ?? []);

  return {
    async read(ids) {
      const found = new Map<string, CallRow>();
      const unreadable = new Set<string>();
      for (const id of ids) {
        const one = stored.get(id);
        if (one === undefined) continue;
        const row = rowOf(one);
        if (row === undefined) unreadable.add(id);
        else found.set(id, row);
      }
      return { rows: found, unreadable };
    },
    async write(changes) {
      return changes.map(({ next, seen }) => {
        const { id, version } = next;
        const standing = stored.get(id)?.version ?? null;
        if (standing === version) return true;
        if (standing !== seen) return false;
        stored.set(id, { id, version, json: JSON.stringify(storedRow(next)) });
        return true;
      });
    },
    async due({ of = "calls", backlogs, until, each }) {
      const all = rows().map(({ id, backlog, dueAt, tellTo, tellAt }) =>
        of === "calls" ? { id, backlog, dueAt } : { id, backlog: tellTo, dueAt: tellAt },
      );
      return backlogs.map(({ key, after }) =>
        all
          .flatMap(({ id, backlog, dueAt }): DuePlace[] =>
            backlog === key && dueAt !== null && dueAt <= until ? [{ id, dueAt }] : [],
          )
          .filter((place) => after === undefined || comparePlaces(place, after) > 0)
          .toSorted(comparePlaces)
          .slice(0, each),
      );
    },
    async list({ before = "~", limit, ...of }) {
      const found = rows()
        .filter((row) => row.id < before && isOf(row, of))
        .toSorted((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit)
        .map((row) => structuredClone(row));
      const next = found.length < limit ? undefined : found.at(-1)?.id;
      const unreadable = [...stored.values()].filter((one) => searched(one) === undefined).length;
      return { rows: found, next, unreadable };
    },
    async ended({ before, after = "", limit }) {
      const found = rows()
        .filter(
          ({ id, acceptedAt }) => id > after && id < firstCallIdAt(before) && acceptedAt < before,
        )
        .filter(({ state }) => state !== "WAITING" && state !== "DIALING")
        .filter((row) => !isUntold(row) || row.acceptedAt < before - untoldKeptMs)
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

function isOf(row: CallRow, of: ListOf): boolean {
  if ("state" in of) return row.state === of.state;
  if ("requestId" in of) return requestIdOf(row.id) === of.requestId;
  return "all" in of || row.numberHash === of.numberHash;
}
