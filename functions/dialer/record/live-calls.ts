import DataLoader from "dataloader";
import { accountNameOf, type Route } from "#shared/calls/call-request.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { hasEnded } from "#shared/calls/ended.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { dayMs, minuteMs } from "#shared/lib/units.ts";
import { type Unreadable, unreadable } from "#shared/ports/unreadable.ts";
import type { StoredDocument } from "#shared/ports/document-kinds.ts";
import {
  formerLiveKeysOf,
  type Lines,
  type LiveCall,
  liveKeysOf,
  liveMsMax,
  roomOf,
} from "#shared/rules/live-calls.ts";
import type { ClaimedCall } from "#shared/rules/rule.ts";
import type { DialerDeps } from "../runtime/context.ts";

const writeTries = 5;
/** Weight of one call's duration in the mean that forecasts use. */
const meanWeight = 0.1;
/** Time for which the mean is kept after the last call, longer than any call. */
const meanLifeMs = 7 * dayMs;

type Part = StoredDocument<"live-calls">;
type LiveDeps = Pick<DialerDeps, "documents" | "clock" | "random" | "settings" | "log">;

/** One of the documents with an account's live calls. `value`: as read. */
interface PartRead {
  key: Part["key"];
  room: number;
  seen: string | null;
  value: Part["value"];
}

/** Reads the documents of the limit, and then those of a former, higher limit, which have no room. */
async function readParts(account: string, limit: number, deps: LiveDeps): Promise<PartRead[]> {
  const { documents } = deps;
  const keys = liveKeysOf(account, limit);
  const read = await documents.read(keys);
  const former = formerLiveKeysOf(read, { account, limit });
  const readFormer = former.length === 0 ? read : await documents.read(former);
  return [...keys, ...former].map(({ kind, key }, part) => {
    const current = (part < keys.length ? read : readFormer).get(kind, key);
    const { entries = [], ...rest } = current?.value ?? { meanMs: null };
    const room = roomOf(part, limit) - entries.length;
    return { key, room, seen: current?.version ?? null, value: { ...rest, entries } };
  });
}

/** Writes parts together. Returns for each whether it still had the version that was read. */
async function writeParts(
  parts: readonly PartRead[],
  { documents, clock, random }: LiveDeps,
): Promise<boolean[]> {
  if (parts.length === 0) return [];
  const expiresAt = clock.now() + meanLifeMs;
  return documents.write(
    parts.map(({ key, seen, value }) => {
      const version = random.version();
      return { next: { kind: "live-calls" as const, key, version, value, expiresAt }, seen };
    }),
  );
}

/** Adds the claimed calls of one delivery to the live calls. Those added at the same time share writes. */
export function createLiveEntries(deps: LiveDeps): Lines {
  const loader = new DataLoader<ClaimedCall, boolean>(
    async (claims) => {
      const byAccount = Map.groupBy(claims, ({ dial }) => dial.target.account.name);
      const entered = await Promise.all(
        [...byAccount].map(([account, own]) => enterAll(account, own, deps)),
      );
      return claims.map((one) => entered.some((some) => some.has(one)));
    },
    { cache: false },
  );
  return {
    /**
     * Adds a call. It takes over the entry of an earlier claim of the same call.
     *
     * @returns false if the account has as many live calls as it may have
     */
    async enter(claimed) {
      return claimed.dial.target.account.liveCalls === undefined || loader.load(claimed);
    },
    leave({ row: { id }, version: claim, dial }) {
      const { route } = dial.target;
      return leaveLive([{ id, claim, route, isMeasured: false }], deps);
    },
  };
}

/** @returns the calls that were added */
async function enterAll(
  account: string,
  claims: readonly ClaimedCall[],
  deps: LiveDeps,
): Promise<ReadonlySet<ClaimedCall>> {
  const limit = claims[0]?.dial.target.account.liveCalls;
  const entered = new Set<ClaimedCall>();
  if (limit === undefined) return entered;
  let left = claims;
  for (let tries = 0; tries < writeTries && left.length > 0; tries++) {
    const parts = await readParts(account, limit, deps);
    const chosen = Map.groupBy(left, (one) => addEntry(one, parts, deps));
    chosen.delete(undefined); // there is no room for these
    const parted = [...chosen].flatMap(([part, own]) =>
      part === undefined ? [] : [{ part, own }],
    );
    const written = await writeParts(
      parted.map(({ part }) => part),
      deps,
    );
    for (const [index, { own }] of parted.entries()) {
      if (written[index] === true) for (const one of own) entered.add(one);
    }
    left = parted.flatMap(({ own }, index) => (written[index] === true ? [] : own));
  }
  return entered;
}

/** Adds a call to a part that has its earlier entry, or room. Returns that part, or undefined. */
function addEntry(
  { row, version }: ClaimedCall,
  parts: readonly PartRead[],
  { clock, random }: LiveDeps,
): PartRead | undefined {
  const isOwn = ({ call }: LiveCall) => call === row.id;
  const former = parts.find(({ value }) => value.entries.some(isOwn));
  // After the limit was lowered, a document may have more entries than its share.
  const isFull = parts.reduce((sum, { room }) => sum + room, 0) <= 0;
  const free = isFull ? [] : parts.filter(({ room }) => room > 0);
  const part = former ?? free[Math.floor(random.fraction() * free.length)];
  if (part === undefined) return undefined;
  const entry = { call: row.id, claim: version, at: clock.now() };
  if (former === undefined) part.room -= 1;
  part.value = {
    ...part.value,
    entries: [...part.value.entries.filter((one) => !isOwn(one)), entry],
  };
  return part;
}

/** A call that is no longer live. */
export interface EndedCall {
  id: string;
  route: Route;
  /** Only this claim's entry is removed. Absent: any claim's. */
  claim?: string;
  /** True if the call ended just now, so that its duration counts for the mean. */
  isMeasured: boolean;
}

/**
 * Removes calls from their accounts' live calls. Never throws: a sweep removes a remaining entry.
 */
export async function leaveLive(ended: readonly EndedCall[], deps: LiveDeps): Promise<void> {
  const { table } = deps.settings;
  const limited = ended.filter(({ route }) => table.account(route).liveCalls !== undefined);
  const byAccount = Map.groupBy(limited, ({ route }) => accountNameOf(route));
  await Promise.all(
    [...byAccount].map(async ([account, own]) => {
      try {
        await leaveAccount(account, own, deps);
      } catch (error) {
        deps.log("warning", "live_calls.not_removed", {
          account: own[0]?.route.account ?? "",
          count: own.length,
          error: errorForLog(error),
        });
      }
    }),
  );
}

async function leaveAccount(
  account: string,
  ended: readonly EndedCall[],
  deps: LiveDeps,
): Promise<void> {
  const [{ route } = { route: undefined }] = ended;
  const limit = route && deps.settings.table.account(route).liveCalls;
  if (limit === undefined) return;
  const findEnded = ({ call, claim }: LiveCall) =>
    ended.find((one) => one.id === call && (one.claim === undefined || one.claim === claim));
  for (let tries = 0; tries < writeTries; tries++) {
    const parts = await readParts(account, limit, deps);
    const changed = parts.flatMap((part) => {
      const entries = part.value.entries.filter((one) => findEnded(one) === undefined);
      if (entries.length === part.value.entries.length) return [];
      const measured = part.value.entries.filter((one) => findEnded(one)?.isMeasured === true);
      const meanMs = meanAfter(part.value.meanMs, measured, deps.clock.now());
      return [{ ...part, value: { ...part.value, entries, meanMs } }];
    });
    const written = await writeParts(changed, deps);
    if (written.every(Boolean)) return;
  }
  throw new Error("the live calls were changed by others each time");
}

/** Entries older than this are compared with their rows. Younger ones may be of claims being written. */
const youngMs = minuteMs;

/** Returns the entries that are old enough for `leaveOver`. */
export function oldEntries(calls: readonly LiveCall[], now: number): LiveCall[] {
  return calls.filter(({ at }) => at <= now - youngMs);
}

/**
 * Removes those of an account's old entries whose calls are not live by their rows, or have no known end within a call's
 * maximum duration. Never throws. The entry of a newer claim of the same call stays.
 */
export async function leaveOver(
  { route, calls }: { route: Route; calls: readonly LiveCall[] },
  rows: { get(id: string): CallRow | Unreadable | undefined },
  deps: LiveDeps,
): Promise<void> {
  const now = deps.clock.now();
  const lifeMs = liveMsMax(deps.settings.table.account(route));
  const over = calls.filter(({ call, at }) => at + lifeMs <= now || !mayBeLive(rows.get(call)));
  await leaveLive(
    over.map(({ call: id, claim }) => ({ id, claim, route, isMeasured: false })),
    deps,
  );
}

/** True if the call may be live, by its row. */
function mayBeLive(row: CallRow | Unreadable | undefined): boolean {
  if (row === unreadable) return true;
  if (row === undefined) return false;
  const { state, result } = row;
  if (state === "PLACED") return !hasEnded(result);
  return state === "DIALING" || state === "UNKNOWN" || state === "NEEDS_REVIEW";
}

/**
 * Notes in an account's first document how many there are, and moves there the entries of a former, higher limit's
 * documents, as readers read only those of the limit. The number stays until these documents have expired, as a process
 * may still have the former plan.
 */
export async function gatherLive(account: string, limit: number, deps: LiveDeps): Promise<void> {
  const parts = await readParts(account, limit, deps);
  const [first] = parts;
  if (first === undefined) return;
  const former = parts.slice(liveKeysOf(account, limit).length);
  const isGone = former.every(({ seen }) => seen === null);
  const count = isGone ? parts.length - former.length : parts.length;
  const { entries } = first.value;
  const moved = former
    .flatMap(({ value }) => value.entries)
    .filter(({ call }) => entries.every((one) => one.call !== call));
  if (moved.length === 0 && count === first.value.parts) return;
  const value = { ...first.value, entries: [...entries, ...moved], parts: count };
  // An entry that is in two documents for a moment counts once, and leaves both.
  const [isWritten] = await writeParts([{ ...first, value }], deps);
  if (isWritten !== true) return;
  const emptied = former.filter((part) => part.value.entries.length > 0);
  await writeParts(
    emptied.map((part) => ({ ...part, value: { ...part.value, entries: [] } })),
    deps,
  );
}

/** Returns the mean duration of calls after these have ended. */
function meanAfter(before: number | null, ended: readonly LiveCall[], now: number): number | null {
  let mean = before;
  for (const { at } of ended) {
    mean = mean === null ? now - at : mean + (now - at - mean) * meanWeight;
  }
  return mean;
}

/** Interval at which an account's live calls are polled while other calls wait for them to end. */
export const pollLiveMs = 20_000;

/** Sends messages to poll the live calls of accounts. */
export async function sendPollsOfLive(
  accounts: readonly { account: string; route: Route }[],
  { eventsQueue, clock }: Pick<DialerDeps, "eventsQueue" | "clock">,
): Promise<void> {
  const sentAt = clock.now();
  const polls = accounts.map(({ account, route }) => ({
    message: { kind: "poll", account: route.account, sentAt, live: account } as const,
  }));
  if (polls.length > 0) await eventsQueue.sendMany(polls);
}
