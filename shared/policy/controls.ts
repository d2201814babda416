import type { Route } from "../calls/call-request.ts";
import { type HashKeys, listKeys, nameOfKey } from "../telephony/phone-number.ts";
import type { DocumentKey, DocumentsRead, ValueOf } from "../ports/document-kinds.ts";
import { toRead } from "../ports/found-documents.ts";
import type { ClientAgent } from "./breakers.ts";

/** The target of a pause: the calls of an agent, of an account of the dial plan's `providers`, or of a client. */
export type Pausable = ValueOf<"pause">["of"];

/** Names the document of a pause, such as that of `["agent","agent_sales"]`. */
export function pauseKeyOf(what: Pausable): DocumentKey<"pause"> {
  return { kind: "pause", key: JSON.stringify(Object.entries(what)[0]) };
}

/** Names the documents of all pauses that may keep calls of a client and an agent along a route waiting. */
export function pauseKeysOf({ client, agentId }: ClientAgent, route: Route | undefined) {
  const own = [pauseKeyOf({ agent: agentId }), pauseKeyOf({ client })];
  return route === undefined ? own : [...own, pauseKeyOf({ account: route.account })];
}

/** The target of a cancellation: the waiting calls of an agent or of a request. */
export type Cancellable = ValueOf<"cancellation">["of"];

/** Names the document of a cancellation. */
export function cancellationKeyOf(what: Cancellable): DocumentKey<"cancellation"> {
  const name = "agent" in what ? ["agent", what.agent] : ["request", what.request];
  return { kind: "cancellation", key: JSON.stringify(name) };
}

/**
 * The do-not-call list has numbers by their hashes, and a hash means nothing without its key. So one document names the
 * keys under which entries may stand: each before its first entry, and none as long as one may stand. Who does not hold
 * all of these keys cannot see every entry, and dials nobody.
 */
export const doNotCallListKey = { kind: "do-not-call-list", key: "list" } as const;

export function doNotCallKeyOf(numberHash: string): DocumentKey<"do-not-call"> {
  return { kind: "do-not-call", key: numberHash };
}

/** Returns the key of an entry that is for one client's calls alone. A hash has no space. */
export function clientEntryOf(numberHash: string, client: string): string {
  return `${numberHash} ${client}`;
}

/** Names the document of a number's erasure. */
export function erasureKeyOf(numberHash: string): DocumentKey<"erasure"> {
  return { kind: "erasure", key: numberHash };
}

/** True if the key is that of an entry for one client's calls alone. */
export function isClientEntry(key: string): boolean {
  return key.includes(" ");
}

/** Entries of the list may stand under a key that is not held. */
export class OtherHashKeyError extends Error {
  override name = "OtherHashKeyError";
}

/** Names the documents that say whether these hashed numbers are on the do-not-call list. */
export function doNotCallKeysOf(numberHashes: readonly string[]): DocumentKey[] {
  return [...numberHashes.map(doNotCallKeyOf), doNotCallListKey];
}

/** A number by its hashes under all keys that are held, and the client that wants to call it. */
export interface ListedNumber {
  hashes: readonly string[];
  /** Undefined: entries for one client's calls are not looked at. */
  client?: string | undefined;
}

/**
 * True if a number must never be called.
 *
 * @param documents the documents named by `doNotCallKeysOf`, with the client's entries where there are such
 * @throws OtherHashKeyError if entries may stand under another HASH_KEY
 */
export function isOnDoNotCallList(
  { hashes, client }: ListedNumber,
  documents: DocumentsRead,
  keys: HashKeys,
): boolean {
  if (isOfOtherKey(documents, keys)) {
    throw new OtherHashKeyError("the do-not-call list was made under another HASH_KEY");
  }
  const isListed = (key: string) => documents.get("do-not-call", key) !== undefined;
  return hashes.some(
    (hash) => isListed(hash) || (client !== undefined && isListed(clientEntryOf(hash, client))),
  );
}

/** True if entries may stand under a key that is not held: then nobody is dialed. */
export function isOfOtherKey(documents: DocumentsRead, keys: HashKeys): boolean {
  const held = namesOf(keys);
  return listIn(documents)?.keys.some((name) => !held.includes(name)) ?? false;
}

/** Returns the time since which the current key is known to be current; undefined if it is not known yet. */
export function findCurrentSince(documents: DocumentsRead, keys: HashKeys): number | undefined {
  const { current } = listIn(documents) ?? {};
  return current?.name === nameOfKey(keys.current) ? current.since : undefined;
}

/** Returns what the list's document says, where it is among those that were read. */
export function listIn(documents: DocumentsRead): ValueOf<"do-not-call-list"> | undefined {
  return documents.get(doNotCallListKey.kind, doNotCallListKey.key)?.value;
}

/** Returns the names of the keys that are held. */
export function namesOf(keys: HashKeys): string[] {
  return listKeys(keys).map(nameOfKey);
}

/**
 * A ledger that is restored from a backup has WAITING rows of calls that were dialed since. Sweeps therefore
 * count an epoch, in the ledger and then in the object store beside it. A ledger whose epoch is behind the
 * object store's has gone back: nothing is dialed until an operator has named the time of the backup, and every
 * row that may have been dialed since is looked up or waits for review.
 */

/**
 * Keeps the epoch outside the ledger, where a restore of the ledger does not change it. Each epoch is an object,
 * named so that the highest epoch is listed first. Thus a sweep that stood still cannot lower it.
 */
export interface EpochStore {
  /** Resolves to the highest epoch that was written, or 0. */
  read(): Promise<number>;
  /**
   * Writes an epoch and removes `before`, the epoch that was read. Writing a lower epoch than the current one has no
   * effect.
   */
  write(epoch: number, before: number): Promise<void>;
}

/** Prefix of the names of epochs' objects. */
export const epochPrefix = "epoch/";
const epochMax = 1e15;

export function nameOfEpoch(epoch: number): string {
  return epochPrefix + String(epochMax - epoch).padStart(16, "0");
}

/** Returns the epoch of an object's name, or 0 if there is no object. */
export function epochIn(name: string | undefined): number {
  return name === undefined ? 0 : epochMax - Number(name.slice(epochPrefix.length));
}

export const sweepKey = { kind: "sweep", key: "sweep" } as const;
export const upkeepKey = { kind: "upkeep", key: "upkeep" } as const;
export const restoreKey = { kind: "restore", key: "ledger" } as const;

/** Documents that control calls. */
export interface ControlDocuments extends DocumentsRead {
  /** True while nothing may be dialed because the ledger was restored to an earlier state. */
  isSuspended: boolean;
}

/**
 * True while nothing may be dialed because the ledger was restored.
 *
 * @param documents those of `sweepKey` and `restoreKey`
 * @param epochSeen the highest epoch that was seen anywhere before the documents were read
 */
export function isLedgerSuspended(documents: DocumentsRead, epochSeen: number): boolean {
  const state = documents.get("restore", restoreKey.key)?.value.state;
  if (state === "suspended" || state === "confirmed") return true;
  const epoch = documents.get("sweep", sweepKey.key)?.value.epoch ?? 0;
  return epoch < epochSeen;
}

/** Returns documents that were read with that of the restore, by which alone they tell whether dialing is suspended. */
export function toControlDocuments(read: DocumentsRead): ControlDocuments {
  return { ...read, isSuspended: isLedgerSuspended(read, 0) };
}

/** Combines two reads; the first one wins. */
export function mergeControlDocuments(
  one: ControlDocuments,
  other: ControlDocuments,
): ControlDocuments {
  return {
    ...toRead((kind, key) => one.find(kind, key) ?? other.find(kind, key)),
    isSuspended: one.isSuspended || other.isSuspended,
  };
}

/** Maximum epochs by which the ledger may be ahead of the object store. */
const epochsAheadMax = 3;

/**
 * True if the object store's epoch is too far behind. A restore of the ledger could then go unnoticed, so no waiting
 * row may be dialed.
 */
export function isTooFarAhead({
  epoch,
  epochOutside = epoch,
}: Pick<ValueOf<"sweep">, "epoch" | "epochOutside">): boolean {
  return epoch > epochOutside + epochsAheadMax;
}
