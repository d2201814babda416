import { byId } from "#test/support/reads.ts";
import { isDeepStrictEqual } from "node:util";
import { parseRow } from "#shared/ports/stored-row.ts";
import { createMemoryLedger } from "../support/memory-ledger.ts";
import type { CallLedger, Change, Page } from "#shared/ports/ledger.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import { ask, pollEach, type Faults } from "./outside.ts";
import type { World } from "./world.ts";

/** A state that only a later version of the code knows. */
const laterState = "RINGING";
/** A field that only a later version of the code knows. */
const laterField = "ringsLeft";

interface Stored {
  id: string;
  version: string;
  json: string;
}

/** A row as it was once written. */
export interface RowVersion {
  id: string;
  at: number;
  json: string;
}

/**
 * Creates the ledger of the simulated world, in memory. Its indexes, by which rows are listed and dispatched,
 * lag behind: the rows that they name are read as they stand now, as with DynamoDB.
 *
 * @param lagMs returns the lag of an index behind a write, in milliseconds
 */
export function createSimulatedLedger(world: World, lagMs: () => number) {
  const stored = new Map<string, Stored>();
  const indexed = new Map<string, Stored>();
  const memory = createMemoryLedger(stored);
  const index = createMemoryLedger(indexed);
  /** Changes to a row that no version of the code may make. */
  const violations: string[] = [];
  /** Every version of every row, oldest first. */
  const versions: RowVersion[] = [];
  /** Rows that a later version is handling. */
  const taken = new Set<string>();

  const follow = (id: string) => {
    const one = stored.get(id);
    if (one === undefined) indexed.delete(id);
    // An index also has the keys of rows that only a later version can read.
    else indexed.set(id, { ...one, json: one.json.replace(`"${laterState}"`, '"WAITING"') });
  };
  const changed = (id: string) => {
    const lag = lagMs();
    if (lag === 0) follow(id);
    else world.after(lag, "an index follows", () => follow(id));
  };

  const write = async ({ next, seen }: Change, isLater: boolean): Promise<boolean> => {
    const { id } = next;
    const before = stored.get(id);
    const row = isLater ? { ...next, [laterField]: "3" } : next;
    const [isWritten] = await memory.write([{ next: row, seen }]);
    const after = stored.get(id);
    if (after !== before) {
      if (before?.json.includes(laterField) === true && !after?.json.includes(laterField)) {
        violations.push(`forgotten: what a later version wrote of ${id}`);
      }
      if (taken.has(id)) violations.push(`overwritten: ${id}, which only a later version can read`);
      violations.push(...changesOfResult(before?.json, after?.json));
      if (after !== undefined) versions.push({ id, at: world.now(), json: after.json });
      changed(id);
    }
    world.note(`write ${isWritten} ${id} ${next.state} ${next.reason} over ${seen}`);
    return isWritten === true;
  };

  /** Replaces the rows of an index page by the rows as they stand now. */
  const asTheyStand = async (
    page: Page,
    fits: (row: Page["rows"][number]) => boolean,
  ): Promise<Page> => {
    const read = await memory.read(page.rows.map(({ id }) => id));
    const rows = byId(read);
    const found = page.rows.flatMap(({ id }) => rows.get(id) ?? []);
    return { ...page, rows: found.filter(fits), unreadable: read.unreadable.size };
  };

  /** Periods in which only a later version could read a row. */
  const hidden: { id: string; from: number; until: number }[] = [];
  /** Lets a later version handle a waiting row for some minutes, in a state that this version does not know. */
  const takeOne = () => {
    const waiting = [...stored.values()].filter(({ json }) => stateOf(json) === "WAITING");
    const row = waiting[Math.floor(world.random() * waiting.length)];
    if (row === undefined || taken.has(row.id)) return;
    const { id, json } = row;
    const change = (version: string, next: string) => {
      stored.set(id, { id, version, json: next });
      changed(id);
    };
    change(world.version(), JSON.stringify({ ...Object(JSON.parse(json)), state: laterState }));
    world.note(`hidden ${id}`);
    taken.add(id);
    const time = { id, from: world.now(), until: Infinity };
    hidden.push(time);
    world.after(world.between(20_000, 1_200_000), "a later version is done with a row", () => {
      world.note(`shown ${id}`);
      taken.delete(id);
      time.until = world.now();
      change(world.version(), json);
    });
  };

  return {
    stored,
    memory,
    /** Copies all rows. Returns a function that puts the copy back in their stead, with indexes that fit. */
    copy(): () => void {
      const rows = structuredClone([...stored]);
      return () => {
        const gone = new Set([...stored.keys(), ...indexed.keys()]);
        stored.clear();
        for (const [id, row] of rows) stored.set(id, row);
        for (const id of [...gone, ...stored.keys()]) follow(id);
      };
    },
    violations,
    versions,
    hidden,
    /** Returns all rows as they stand. */
    rows: () =>
      [...stored.values()].flatMap(
        ({ id, version, json }) => parseRow(id, version, JSON.parse(json)) ?? [],
      ),
    takeOne,
    /** Returns the calls that were dialed while only a later version could read their rows. */
    dialedUnseen: (requests: readonly { id: string; at: number }[]): string[] =>
      requests
        .filter(({ id, at }) =>
          hidden.some((one) => one.id === id && at > one.from && at < one.until),
        )
        .map(({ id }) => `dialed: ${id}, which only a later version can read`),
    /** Returns the ledger as a function reaches it. A later version adds a field of its own to its writes. */
    reach(faults: () => Faults, isLater = false): CallLedger {
      const one = <Result>(what: string, effect: () => Promise<Result>) =>
        ask(world, faults(), what, effect);
      return {
        read: (ids) => one("read", () => memory.read(ids)),
        readWithoutContext: (ids) => one("read", () => memory.readWithoutContext(ids)),
        dialing: (limit) => one("dialing", () => index.dialing(limit)),
        write: (changes) =>
          pollEach(world, faults(), stepOf(changes, stored), changes, (change) =>
            write(change, isLater),
          ),
        due: (query) => one("due", () => index.due(query)),
        list: (query) =>
          one("list", async () =>
            asTheyStand(await index.list(query), (row) => {
              if ("state" in query) return row.state === query.state;
              return !("requestId" in query) || requestIdOf(row.id) === query.requestId;
            }),
          ),
        listOldest: (query) => one("list", () => memory.listOldest(query)),
        ended: (query) => one("ended", () => index.ended(query)),
        purge: (ids) =>
          one("purge", async () => {
            await memory.purge(ids);
            for (const id of ids) changed(id);
          }),
      };
    },
  };
}

/** Names the purpose of a write. Schedules use it to name the step at which a function stands still. */
function stepOf(changes: readonly Change[], stored: ReadonlyMap<string, Stored>): string {
  const [first] = changes;
  if (first === undefined) return "write";
  const { id, state, claims, reason } = first.next;
  if (stored.get(id)?.json.includes('"state":"PLACED"') === true) return "result";
  if (state === "DIALING") return "claim";
  if (reason === "claim_lapsed") return "lapse";
  return claims.length > 0 || first.next.claimedAt !== null ? "settle" : "decide";
}

function stateOf(json: string): unknown {
  const { state }: { state?: unknown } = JSON.parse(json);
  return state;
}

/** Returns what a write does that no writer may do to a placed call: its end is told once, but for `unknown`. */
function changesOfResult(before: string | undefined, after: string | undefined): string[] {
  if (before === undefined || after === undefined || stateOf(before) !== "PLACED") return [];
  const [was, is] = [rowIn(before), rowIn(after)];
  if (is.state !== "PLACED") return [`changed: a placed call is ${is.state}`];
  const { status } = was.result ?? { status: "live" };
  if (status === "live") return [];
  const isSame = isDeepStrictEqual(was.result, is.result);
  const isTold = status === "unknown" && is.result?.status !== "live";
  return isSame || isTold ? [] : [`changed: the result ${status} to ${is.result?.status}`];
}

function rowIn(json: string): { state?: string; result?: { status: string } } {
  return JSON.parse(json);
}
