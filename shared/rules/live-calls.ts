import type {
  ClaimedCall,
  KeyedAccount,
  Room,
  RoomFacts,
  SimulatedLimit,
  Taking,
  Used,
  Texts,
  ReadFacts,
} from "./rule.ts";
import type { ResolvedAccount } from "../dial-plan/route-table.ts";
import { minuteMs } from "../lib/units.ts";
import type { DocumentKey, DocumentsRead, ValueOf } from "../ports/document-kinds.ts";

/** Maximum live calls in one document. Few, so that calls which begin and end at the same time rarely conflict. */
const entriesMax = 25;
/** Maximum duration of a call if the plan names none. */
const callMinutesMax = 240;
/** Time after a call's maximum duration, for the provider's delays. */
const marginMs = 2 * minuteMs;

export type LiveCall = ValueOf<"live-calls">["entries"][number];

/** Names the documents that hold an account's live calls. */
export function liveKeysOf(account: string, limit: number): DocumentKey<"live-calls">[] {
  const count = Math.ceil(limit / entriesMax);
  return Array.from({ length: count }, (_, part) => ({
    kind: "live-calls" as const,
    key: `${part} ${account}`,
  }));
}

/** Returns the number of documents that an account has had under any limit, as its first one notes. */
export function livePartsIn(read: DocumentsRead, account: string): number {
  return read.get("live-calls", `0 ${account}`)?.value.parts ?? 1;
}

/** Names the documents that an account needed under a former, higher limit. */
export function formerLiveKeysOf(
  read: DocumentsRead,
  { account, limit }: { account: string; limit: number },
): DocumentKey<"live-calls">[] {
  const count = Math.ceil(limit / entriesMax);
  return liveKeysOf(account, livePartsIn(read, account) * entriesMax).slice(count);
}

/** Returns the number of live calls that one of these documents may hold. */
export function roomOf(part: number, limit: number): number {
  return Math.max(0, Math.min(entriesMax, limit - part * entriesMax));
}

/** Returns the live calls of an account, as read. */
export function liveCallsIn(
  read: DocumentsRead,
  { account, limit }: { account: string; limit: number },
): LiveCall[] {
  return liveKeysOf(account, limit).flatMap(
    ({ kind, key }) => read.get(kind, key)?.value.entries ?? [],
  );
}

/** Returns the mean duration of an account's ended calls in milliseconds; undefined if none has ended yet. */
function meanMsIn(
  read: DocumentsRead,
  { account, limit }: { account: string; limit: number },
): number | undefined {
  const means = liveKeysOf(account, limit).flatMap(({ kind, key }) => {
    const meanMs = read.get(kind, key)?.value.meanMs;
    return meanMs == null ? [] : meanMs;
  });
  return means.length === 0 ? undefined : means.reduce((sum, one) => sum + one, 0) / means.length;
}

/** Returns the time for which a call counts as live if no end is known. */
export function liveMsMax({
  maxCallMinutes = callMinutesMax,
}: Pick<ResolvedAccount, "maxCallMinutes">): number {
  return maxCallMinutes * minuteMs + marginMs;
}

export function keys({ target }: KeyedAccount): DocumentKey[] {
  const { name = "", liveCalls = 0 } = target?.account ?? {};
  return liveKeysOf(name, liveCalls);
}

export function room(
  { name: account, liveCalls: limit }: ResolvedAccount,
  { documents, inFlight, countOthers }: Omit<RoomFacts, "sent">,
): Room | undefined {
  if (limit === undefined) return undefined;
  const live = new Set(liveCallsIn(documents, { account, limit }).map(({ call }) => call));
  const count = limit - live.size - countOthers(live);
  return { count, why: "live_calls", ...(count > 0 ? {} : { most: inFlight }) };
}

export function used(
  { name: account, liveCalls: limit }: ResolvedAccount,
  { documents }: Pick<ReadFacts, "documents">,
): Used | undefined {
  if (limit === undefined) return undefined;
  const times = liveCallsIn(documents, { account, limit }).map(({ at }) => at);
  const oldest = times.length === 0 ? {} : { oldestAt: Math.min(...times) };
  return { reason: "live_calls", now: times.length, limit, ...oldest };
}

/** Each call is assumed to last as long as the mean. */
export function simulate(
  { name: account, liveCalls: limit, meanCallSeconds }: ResolvedAccount,
  { documents, now }: ReadFacts,
): SimulatedLimit | undefined {
  if (limit === undefined) return undefined;
  const meanMs = meanMsIn(documents, { account, limit }) ?? meanCallSeconds * 1000;
  const ends = liveCallsIn(documents, { account, limit })
    .map(({ at }) => Math.max(now, at + meanMs))
    .toSorted((one, other) => one - other);
  const lineAt = () => ends[ends.length - limit] ?? 0;
  return {
    limit: "live_calls",
    freeAt: (at) => Math.max(at, lineAt()),
    begin: (at) => void ends.push(at + meanMs),
    isCause: ({ at }) => lineAt() === at,
  };
}

/** The live calls of the accounts of one delivery's calls. */
export interface Lines {
  /** Adds a claimed call. Resolves to false if the account has reached its liveCalls. */
  enter(claim: ClaimedCall): Promise<boolean>;
  /** Removes the entry of this claim. Never throws. */
  leave(claim: ClaimedCall): Promise<void>;
}

export const held = { kind: "hold", reason: "live_calls" } as const;

/**
 * Takes a line of the account. It is always given back: a remaining entry would count for hours, and removing a
 * missing entry does no harm.
 */
export function take(claim: ClaimedCall, { lines }: { lines: Lines }): Taking {
  let isFull = false;
  const settled = lines.enter(claim).then((isLive) => {
    isFull = !isLive;
    return isLive;
  });
  return { settled, verdict: () => (isFull ? held : undefined), give: () => lines.leave(claim) };
}

export const texts: Texts = {
  live_calls: {
    means: "The account has reached its liveCalls: that many calls ring or are in progress.",
    holds: (name) => `Account ${name} has reached its liveCalls.`,
    isOfAccount: true,
    counts: "live calls",
  },
};
