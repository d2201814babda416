import { toIndexSet } from "../calls/index-set.ts";
import { indexOf, requestIdOf } from "../calls/ids.ts";
import * as z from "../lib/zod.ts";
import { changeDocument } from "../ports/change-document.ts";
import { type CancellationOrder, cancellationOrderSchema } from "../ports/document-kinds.ts";
import { type Journal, nameOfEntry } from "../ports/journal.ts";
import { ownReceiverSchema } from "../ports/receiver-kinds.ts";
import { tokenKinds } from "../ports/token-kinds.ts";
import { type Cancellable, cancellationKeyOf, doNotCallKeyOf } from "./controls.ts";
import { inParts, putEntries } from "./dnc-entries.ts";
import { restoreReceiver } from "./kept-receivers.ts";
import { restoreClient, restoreToken } from "./kept-tokens.ts";
import { type EraseDeps, eraseRows, rememberErasure } from "./erase-number.ts";

/** Schema of an entry. Times are milliseconds since the epoch, and numbers are hashes. */
const entrySchema = z.union([
  /** Entries put onto the do-not-call list, and entries removed from it, by their keys. */
  z.looseObject({ kind: z.literal("list"), entries: z.array(z.string()) }),
  z.looseObject({ kind: z.literal("unlist"), entries: z.array(z.string()) }),
  z.looseObject({
    kind: z.literal("erase"),
    hashes: z.array(z.string()),
    at: z.number(),
    by: z.string(),
    retentionMs: z.number(),
  }),
  z.looseObject({
    kind: z.literal("cancel"),
    of: z.union([z.object({ agent: z.string() }), z.object({ request: z.string() })]),
    order: cancellationOrderSchema,
    expiresAt: z.number(),
  }),
  /** A client or a token that an operator made, changed or ended, as it stands since. */
  z.looseObject({
    kind: z.literal("client"),
    name: z.string(),
    value: tokenKinds.client,
    expiresAt: z.nullable(z.number()),
  }),
  z.looseObject({
    kind: z.literal("token"),
    name: z.string(),
    value: tokenKinds.token,
    expiresAt: z.nullable(z.number()),
  }),
  /** A client's own receiver, as it stands since. Null: it was removed. */
  z.looseObject({
    kind: z.literal("receiver"),
    client: z.string(),
    name: z.string(),
    value: z.nullable(ownReceiverSchema),
  }),
]);
export type JournalEntry = z.infer<typeof entrySchema>;

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
  await journal.append(nameOfEntry(at, random.version()), JSON.stringify(entry));
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

/** Applies an entry of the journal to a restored ledger. Applying it once more changes nothing. */
export async function applyEntry(body: string, deps: EraseDeps): Promise<void> {
  const entry = entrySchema.parse(JSON.parse(body));
  switch (entry.kind) {
    case "list":
      return putEntries(entry.entries, deps);
    case "unlist":
      return unlist(entry.entries, deps);
    case "cancel":
      return giveOrderAgain(entry, deps);
    case "client":
      return restoreClient(entry, deps);
    case "token":
      return restoreToken(entry, deps);
    case "receiver":
      return restoreReceiver(entry, deps);
    case "erase": {
      const { hashes, ...erasure } = entry;
      for (const hash of hashes) {
        await rememberErasure({ ...erasure, hash }, deps);
        await eraseRows({ ...erasure, hash }, deps);
      }
    }
  }
}

async function unlist(entries: readonly string[], { documents }: EraseDeps): Promise<void> {
  for (const some of inParts(entries)) {
    const read = await documents.read(some.map(doNotCallKeyOf));
    const standing = some.flatMap((key) => read.get("do-not-call", key) ?? []);
    const removals = standing.map(({ kind, key, version }) => ({ kind, key, seen: version }));
    if (removals.length > 0) await documents.remove(removals);
  }
}

/** Adds an order to those of its agent or request, unless it is among them. */
async function giveOrderAgain(
  { of, order, expiresAt }: { of: Cancellable; order: CancellationOrder; expiresAt: number },
  deps: EraseDeps,
): Promise<void> {
  await changeDocument(
    {
      name: cancellationKeyOf(of),
      change(current) {
        const orders = current?.orders ?? [];
        const isSame = ({ client, at, indexes }: CancellationOrder) =>
          client === order.client && at === order.at && indexes === order.indexes;
        if (orders.some(isSame)) return undefined;
        return { value: { of, orders: [...orders, order] }, expiresAt };
      },
    },
    deps,
  );
}
