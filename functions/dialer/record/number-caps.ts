import type { NumberHasher } from "#shared/telephony/number-hashes.ts";
import DataLoader from "dataloader";
import { hashedNumberOf } from "#shared/calls/ids.ts";
import type { Call, Route } from "#shared/calls/call-request.ts";
import { toCall, type CallRow } from "#shared/calls/call-row.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import { UnreadableError } from "#shared/ports/unreadable.ts";
import type { DocumentChange } from "#shared/ports/documents.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { findFree, type Free } from "#shared/rules/cap.ts";
import { capDaysMax, type FrequencyCap } from "#shared/telephony/frequency-cap.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { dayMs } from "#shared/lib/units.ts";

const writeTries = 4;

/** Result of counting a call towards its cap. */
type CountedOrNot = { isCounted: true } | { isCounted: false; free: Free | undefined };

/** A claimed call that counts towards the caps of its number, as an entry of the number's document. */
interface Counted {
  row: CallRow;
  version: string;
  /** Present: the phone may have rung already, whether or not its number had room. */
  mayHaveRung?: true;
}

type Entry = StoredDocument<"cap">["value"]["entries"][number];

/**
 * @param elsewhere entries under other hashes: of the number's former forms, and of numbers that may be the same phone
 * @returns the entries with a call among them, or when its number is free again, undefined if not known
 */
function addEntry(
  entries: readonly Entry[],
  { row, version, mayHaveRung }: Counted,
  {
    caps,
    at,
    elsewhere,
  }: { caps: readonly FrequencyCap[]; at: number; elsewhere: readonly Entry[] },
): { next: Entry[] } | { free: Free | undefined } {
  const others = entries.filter((one) => one.call !== row.id);
  const own = entries.find((one) => one.call === row.id);
  // A process that claimed the call first may have died before it counted the call: then there is no
  // entry yet.
  const hasEntry = row.resent && own !== undefined;
  // A later claim has counted the call while this holder was frozen: counting here would overwrite that entry.
  if (own !== undefined && own.at > (row.claimedAt ?? 0) && own.claim !== version) {
    return { free: undefined };
  }
  const times = [...others, ...elsewhere].map((one) => one.at);
  const free = findFree(times, caps, at);
  if (free.at > at && !hasEntry && mayHaveRung === undefined) return { free };
  return { next: [...others, { call: row.id, claim: version, at }] };
}

/** Returns the entries of all of a number's documents, of each call the latest. */
function unite(read: readonly (StoredDocument<"cap"> | undefined)[]): Entry[] {
  const latest = new Map<string, Entry>();
  for (const entry of read.flatMap((one) => one?.value.entries ?? [])) {
    const known = latest.get(entry.call);
    if (known === undefined || entry.at >= known.at) latest.set(entry.call, entry);
  }
  return [...latest.values()];
}

/** Returns a number's document, without the entries that no cap looks at any more. */
function toCap(key: string, value: { entries: readonly Entry[] }, now: number) {
  const periodMs = capDaysMax * dayMs;
  const entries = value.entries.filter(({ at }) => at > now - periodMs);
  return { kind: "cap" as const, key, value: { ...value, entries }, expiresAt: now + periodMs };
}

/** Returns a function that runs `work` after this delivery's pending work on the same number. */
function createTurns() {
  const busy = new Map<string, Promise<unknown>>();
  return async <Result>(numberHash: string, work: () => Promise<Result>): Promise<Result> => {
    const before = busy.get(numberHash) ?? Promise.resolve();
    const mine = before.then(work, work);
    busy.set(numberHash, mine);
    return mine;
  };
}

/**
 * Creates reads and writes of numbers' documents, one for each hash of a number. If the store is one engine, those of
 * a delivery at the same time share a statement. Otherwise one hanging request would delay the calls to all other
 * numbers.
 */
function createCapDocuments({
  documents,
  clock,
  random,
  sharesStatements = false,
}: Pick<DialerDeps, "documents" | "clock" | "random" | "sharesStatements">) {
  const read = (keys: readonly string[]) =>
    documents.read(keys.map((key) => ({ kind: "cap", key })));
  const reads = new DataLoader<string, StoredDocument<"cap"> | undefined>(
    async (keys) => {
      const found = await read(keys);
      // A document that only a later version can read blocks only the calls to its own number.
      return keys.map((key) => {
        const one = found.find("cap", key);
        return one === undefined || isReadable(one) ? one : new UnreadableError("a cap");
      });
    },
    { cache: false },
  );
  const writes = new DataLoader((changes: readonly DocumentChange[]) => documents.write(changes), {
    cache: false,
  });
  return {
    async readAll(keys: readonly string[]) {
      if (sharesStatements) return Promise.all(keys.map((key) => reads.load(key)));
      const found = await read(keys);
      return keys.map((key) => found.get("cap", key));
    },
    /** Writes one after the other, and resolves to false if a document has another version than the one seen. */
    async writeAll(
      keys: readonly string[],
      entries: readonly Entry[],
      seen: readonly (StoredDocument<"cap"> | undefined)[],
    ): Promise<boolean> {
      for (const [index, key] of keys.entries()) {
        const current = seen[index];
        const cap = toCap(key, { ...current?.value, entries }, clock.now());
        const change = {
          next: { ...cap, version: random.version() },
          seen: current?.version ?? null,
        };
        const isWritten = sharesStatements
          ? await writes.load(change)
          : (await documents.write([change]))[0];
        if (isWritten !== true) return false;
      }
      return true;
    },
  };
}

/** Creates look-ups of the hashes that a number's calls are counted under. */
function createKeys(numbers: NumberHasher) {
  return {
    /**
     * The number's hashes under today's HASH_KEY; the row's hash may be older. While HASH_KEY is rotated, a call is
     * counted under both keys, the former one first. So processes with one key and processes with both write over
     * each other's versions, and no two of them take the last room together.
     */
    keysOf: (call: Call) => numbers.underEach(hashedNumberOf(call)).toReversed(),
    /** Other hashes that a number's calls may be counted under. A call under them at the same moment is not seen. */
    otherKeysOf: (call: Call, keys: readonly string[]) =>
      numbers.all(hashedNumberOf(call)).asked.filter((key) => !keys.includes(key)),
  };
}

type CapDeps = Pick<
  DialerDeps,
  "documents" | "clock" | "random" | "settings" | "log" | "sharesStatements"
>;

/**
 * Counts claimed calls towards the frequency caps of their numbers. Within a delivery, entries of one number
 * are written one after another, so that two calls never take the last room together.
 */
export function createCaps(deps: CapDeps) {
  const { clock, settings, log } = deps;
  const inTurn = createTurns();
  const { keysOf, otherKeysOf } = createKeys(settings.numbers);
  const { readAll, writeAll } = createCapDocuments(deps);

  return {
    /**
     * Counts a call that is about to be dialed, at the time of its permit. If it were counted at its claim, some
     * seconds before, its number would be free too soon. A resend may ring now, so it takes a new timestamp in the
     * cap entry that it already has.
     *
     * @returns true as `isCounted` if the call may go; otherwise when its number is free again,
     * undefined if that is not known, or if there is no permit
     */
    async count(
      counted: Counted,
      route: Route,
      permit: Promise<{ permitAt: number } | undefined>,
    ): Promise<CountedOrNot> {
      const call = toCall(counted.row);
      if (call === undefined) return { isCounted: false, free: undefined };
      const { caps, isCounted } = settings.schedule.capsOf(call.request, route);
      if (!isCounted) return { isCounted: true };
      const keys = keysOf(call);
      const others = otherKeysOf(call, keys);
      return inTurn(keys.join(), async () => {
        for (let tries = 0; tries < writeTries; tries++) {
          const [read, permitted] = await Promise.all([readAll([...keys, ...others]), permit]);
          if (permitted === undefined) break;
          const at = Math.max(clock.now(), permitted.permitAt);
          const current = read.slice(0, keys.length);
          const elsewhere = unite(read.slice(keys.length));
          const added = addEntry(unite(current), counted, { caps, at, elsewhere });
          if ("free" in added) return { isCounted: false, free: added.free };
          if (await writeAll(keys, added.next, current)) return { isCounted: true };
        }
        return { isCounted: false, free: undefined };
      });
    },

    /** Returns the times from which the caps permit a call, as read: now, if they do already. It counts nothing. */
    async free(call: Call, route: Route): Promise<Free> {
      const { caps, isCounted } = settings.schedule.capsOf(call.request, route);
      const now = clock.now();
      if (!isCounted) return { at: now, atBest: now };
      const keys = keysOf(call);
      const entries = unite(await readAll([...keys, ...otherKeysOf(call, keys)]));
      const times = entries.flatMap((one) => (one.call === call.id ? [] : one.at));
      return findFree(times, caps, now);
    },

    /**
     * Removes the entry of a call that surely was not placed. If the removal fails, the number rests for
     * longer than needed.
     */
    async release({ row, version }: Counted, route: Route): Promise<void> {
      const call = toCall(row);
      if (call === undefined || row.resent) return;
      if (!settings.schedule.capsOf(call.request, route).isCounted) return;
      const keys = keysOf(call);
      await inTurn(keys.join(), async () => {
        for (let tries = 0; tries < writeTries; tries++) {
          const current = await readAll(keys);
          const entries = unite(current);
          const others = entries.filter((one) => one.claim !== version);
          if (others.length === entries.length) return;
          if (await writeAll(keys, others, current)) return;
        }
      }).catch((error: unknown) => {
        log("warning", "cap.release_failed", { call_id: row.id, error: errorForLog(error) });
      });
    },
  };
}
export type Caps = ReturnType<typeof createCaps>;

/** Counts a call that may have rung, whether or not its number has room. */
export async function countOnCaps(counted: Counted, route: Route, deps: CapDeps): Promise<void> {
  const permit = Promise.resolve({ permitAt: deps.clock.now() });
  await createCaps(deps).count({ ...counted, mayHaveRung: true }, route, permit);
}
