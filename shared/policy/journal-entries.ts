import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { toIndexSet } from "../calls/index-set.ts";
import { indexOf, requestIdOf } from "../calls/ids.ts";
import { minuteMs } from "../lib/units.ts";
import * as z from "../lib/zod.ts";
import { changeDocuments } from "../ports/change-document.ts";
import {
  cancellableSchema,
  cancellationOrderSchema,
  type ValueOf,
} from "../ports/document-kinds.ts";
import type { Documents } from "../ports/documents.ts";
import { type Journal, nameOfEntry } from "../ports/journal.ts";
import { clientReceiverSchema } from "../ports/receiver-kinds.ts";
import { tokenKinds } from "../ports/token-kinds.ts";
import { needsLater, UnreadableError } from "../ports/unreadable.ts";
import { byDocument, withOrder } from "./cancellation-orders.ts";
import { inParts } from "./dnc-entries.ts";
import { replayReceiver } from "./stored-receivers.ts";
import { replayClient, replayToken } from "./stored-tokens.ts";
import { type EraseDeps, rememberErasures } from "./erase-number.ts";
import { applyListings, type Listing, readRemovals } from "./listing-order.ts";

/** Fields of a change of the do-not-call list: keys, the time of the change, and how often each key was removed up to it. */
const listing = {
  entries: z.array(z.string()),
  at: z.optional(z.number()),
  removals: z.optional(z.array(z.number())),
};

/** Makes the schema of an entry. Times are milliseconds since the epoch, and numbers are hashes. */
const entrySchema = () =>
  z.union([
    /** Entries put onto the do-not-call list, and entries removed from it, by their keys. See listing-order.ts. */
    z.looseObject({ kind: z.literal("list"), ...listing }),
    z.looseObject({ kind: z.literal("unlist"), ...listing }),
    z.looseObject({
      kind: z.literal("erase"),
      hashes: z.array(z.string()),
      at: z.number(),
      by: z.string(),
      retentionMs: z.number(),
    }),
    z.looseObject({
      kind: z.literal("cancel"),
      of: cancellableSchema,
      order: cancellationOrderSchema,
      expiresAt: z.number(),
    }),
    /** A client or a token that an operator made, changed or ended, as it stands since. */
    z.looseObject({
      kind: z.literal("client"),
      name: z.string(),
      value: z.built(tokenKinds.client),
      expiresAt: z.nullable(z.number()),
    }),
    z.looseObject({
      kind: z.literal("token"),
      name: z.string(),
      value: z.built(tokenKinds.token),
      expiresAt: z.nullable(z.number()),
    }),
    /** A client's own receiver, as it stands since. Null: it was removed. */
    z.looseObject({
      kind: z.literal("receiver"),
      client: z.string(),
      name: z.string(),
      value: z.nullable(clientReceiverSchema),
    }),
  ]);
export type JournalEntry = z.infer<ReturnType<typeof entrySchema>>;

/** Dependencies of an append. */
interface JournalDeps {
  journal: Pick<Journal, "append">;
  clock: { now(): number };
  random: { version(): string };
}

/**
 * Appends a change to the journal. Call it after the change is in the ledger and before it is answered: a restore of the ledger
 * then cannot undo what was answered.
 *
 * @param at time in whose order it is applied
 * @throws if the object store does not take it. The change stands then, and must be asked for again
 */
export async function appendEntry(
  entry: JournalEntry,
  { journal, clock, random }: JournalDeps,
  at = clock.now(),
): Promise<void> {
  const name = entry.kind === "cancel" ? nameOfOrder(entry, at) : nameOfEntry(at, random.version());
  const { kind, ...fields } = entry;
  await journal.append(name, JSON.stringify({ kind, at, ...fields }));
}

/**
 * Appends entries that are on the do-not-call list, with the number of removals that each has had, to which it resolves. Call it
 * after they were put: a removal that is counted later has found them.
 */
export async function appendListed(
  entries: readonly string[],
  deps: JournalDeps & { documents: Pick<Documents, "read"> },
): Promise<number[]> {
  const removals = await readRemovals(entries, deps);
  await appendEntry({ kind: "list", entries: [...entries], removals }, deps);
  return removals;
}

/** Names the entry of an order: a repeat within the minute stands in the place of the one before, and leaves nothing more. */
function nameOfOrder({ of, order }: EntryOf<"cancel">, at: number): string {
  const { client, indexes } = order;
  const id = hash("sha256", JSON.stringify([of, client, indexes])).slice(0, 20);
  return nameOfEntry(Math.floor(at / minuteMs) * minuteMs, id);
}

/** An order that ended calls, and the time for which it is kept. */
interface GivenCancellation {
  at: number;
  by: string;
  client: string | null;
  retentionMs: number;
}

/** Returns the entry of one cancelled call: the order that ends it if its row is back. */
export function cancelledCallEntry(id: string, given: GivenCancellation): JournalEntry {
  return cancelledCallsEntry({ request: requestIdOf(id), indexes: [indexOf(id)] }, given);
}

/** Returns the entry of cancelled calls of one request. */
export function cancelledCallsEntry(
  { request, indexes }: { request: string; indexes: readonly number[] },
  { at, by, client, retentionMs }: GivenCancellation,
): JournalEntry {
  const order = { client, at, by, indexes: toIndexSet(indexes, "") };
  return { kind: "cancel", of: { request }, order, expiresAt: at + retentionMs };
}

/** Entries of some time, gathered into one object by `compactJournal`: their bodies in their order. */
const partSchema = z.looseObject({ kind: z.literal("part"), entries: z.array(z.string()) });

/** Returns the body of a part. */
export function partOf(bodies: readonly string[]): string {
  return JSON.stringify({ kind: "part", entries: bodies });
}

/** Returns the entries of bodies, and of parts among them. */
function entriesIn(bodies: readonly string[]): JournalEntry[] {
  return bodies.flatMap((body) => {
    const value: unknown = JSON.parse(body);
    const part = partSchema.safeParse(value);
    if (part.success) return entriesIn(part.data.entries);
    const entry = z.built(entrySchema).parse(value);
    if (needsLater(entry) || ("value" in entry && needsLater(entry.value)))
      throw new UnreadableError("a later version has written an entry of the journal");
    return entry;
  });
}

type EntryOf<Name extends JournalEntry["kind"]> = Extract<JournalEntry, { kind: Name }>;

/**
 * Applies entries of the journal, in their order, to a restored ledger. Applying them again changes nothing. Entries
 * of one kind are applied together, because a restore may have a hundred thousand, and kinds are independent. Upkeep
 * erases the rows later: until then nobody erased is called, because the erasure is stored.
 */
export async function applyEntries(bodies: readonly string[], deps: EraseDeps): Promise<void> {
  const entries = entriesIn(bodies);
  const ofKind = <Name extends JournalEntry["kind"]>(kind: Name) =>
    entries.filter((one): one is EntryOf<Name> => one.kind === kind);
  await applyListings(entries.flatMap(listingsIn), deps);
  await giveOrdersAgain(ofKind("cancel"), deps);
  await rememberErasures(
    ofKind("erase").flatMap(({ hashes, ...of }) => hashes.map((one) => ({ ...of, hash: one }))),
    deps,
  );
  for (const one of ofKind("client")) await replayClient(one, deps);
  for (const one of ofKind("token")) await replayToken(one, deps);
  for (const one of ofKind("receiver")) await replayReceiver(one, deps);
}

/** Returns the changes of the do-not-call list of an entry. */
function listingsIn(one: JournalEntry): Listing[] {
  if (one.kind !== "list" && one.kind !== "unlist") return [];
  const { kind, entries, at = 0, removals = [] } = one;
  return entries.map((key, n) => ({
    key,
    isListed: kind === "list",
    at,
    removals: removals[n] ?? 0,
  }));
}

/** Adds orders to those of their agents or requests, unless they are among them. */
async function giveOrdersAgain(
  given: readonly EntryOf<"cancel">[],
  deps: EraseDeps,
): Promise<void> {
  for (const some of inParts(byDocument(given))) {
    const changes = some.map(([name, orders]) => ({
      name,
      change: (current: ValueOf<"cancellation"> | undefined) => withOrders(current, orders),
    }));
    await changeDocuments(changes, deps);
  }
}

function withOrders(
  current: ValueOf<"cancellation"> | undefined,
  given: readonly EntryOf<"cancel">[],
) {
  const [first] = given;
  if (first === undefined) return undefined;
  const before = current?.orders ?? [];
  // Repeated orders are merged: those of weeks would be too long for a document.
  const orders = given.reduce((all, { order }) => withOrder(all, order), before);
  if (isDeepStrictEqual(orders, before)) return undefined;
  // 0.2.0 wrote fractions, which D1 refuses.
  const expiresAt = Math.ceil(Math.max(...given.map((one) => one.expiresAt)));
  return { value: { ...current, of: first.of, orders }, expiresAt };
}
