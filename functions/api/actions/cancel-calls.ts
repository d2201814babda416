import type { Context } from "hono";
import type { CallRow } from "#shared/calls/call-row.ts";
import { batchCallsMax } from "#shared/calls/call-request.ts";
import { toCallId, callsIn } from "#shared/calls/ids.ts";
import { toIndexSet } from "#shared/calls/index-set.ts";
import { states } from "#shared/calls/states.ts";
import { applyAction } from "#shared/calls/transitions.ts";
import type { CancellationOrder } from "#shared/ports/document-kinds.ts";
import { readLastTries } from "#shared/ports/last-tries.ts";
import type { CallLedger, Page } from "#shared/ports/ledger.ts";
import * as z from "#shared/lib/zod.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { callIdsOf, lastTriesOf } from "./request-rows.ts";
import { appendEntry } from "#shared/policy/journal-entries.ts";
import { gatherAbove } from "#shared/policy/gathered-entries.ts";
import { changeDocument } from "#shared/ports/change-document.ts";
import { countActions } from "./change-call.ts";
import { writerOf } from "./writer.ts";
import { nextCursor } from "../http/fields.ts";
import { type GivenOrder, isCovered } from "#shared/rules/cancellation.ts";
import {
  orderIn,
  withOrder,
  type Cancellable,
  cancellationKeyOf,
} from "#shared/policy/cancellation-orders.ts";

export type { GivenOrder };

/** Rows of one page, and maximum pages of one answer. */
export const pageRows = 50;
export const answerPages = 20;

/** Answer of a cancellation. Each answer cancels some of the calls and has the cursor of the next part. */
export const cancelledSchema = z.strictObject({
  cancelled: z.int().check(z.describe("Calls that this answer has cancelled")),
  ordered: z
    .optional(z.nullable(z.int()))
    .check(
      z.describe(
        "First answer only: how many calls are cancelled in all, in this and later answers and on the queue. Calls that are being dialed are not included. null: not known, as for an agent or an unknown id",
      ),
    ),
  cursor: nextCursor,
});

/** The calls of a request that an order names. */
interface Indexes {
  /** Absent: all calls. */
  indexes?: readonly number[] | undefined;
}

/** The client that gave an order, and the calls of a request that the order names. */
export interface OrderScope extends Indexes {
  /** The client whose calls the order ends. Null: every client's, by an operator. */
  client: string | null;
}

/**
 * Writes an order, by which the dialer cancels calls that have no row yet. A document has at most two orders of a
 * client: one for all calls of the request, and one for named calls.
 */
export async function giveOrder(
  c: Context<ApiEnv>,
  { what, scope }: { what: Cancellable; scope: OrderScope },
  deps: RouteDeps,
): Promise<GivenOrder | undefined> {
  const { clock, retentionMs } = deps;
  const { client, indexes } = scope;
  const at = clock.now();
  const by = c.get("caller").tokenId;
  const { after } = await changeDocument(
    {
      name: cancellationKeyOf(what),
      change(current) {
        const { orders = [] } = current ?? {};
        const named = indexes === undefined ? null : toIndexSet(indexes);
        const all = withOrder(orders, { client, at, by, indexes: named });
        return { value: { ...current, of: what, orders: all }, expiresAt: at + retentionMs };
      },
    },
    deps,
  );
  const given = givenIn(after?.orders, what, scope);
  if (given !== undefined) {
    const { order } = given;
    const journal = gatherAbove(writerOf(c), deps);
    const entry = { kind: "cancel", of: what, order, expiresAt: at + retentionMs } as const;
    await appendEntry(entry, { ...deps, journal });
  }
  return given;
}

/** Resolves to the order given by an earlier request; undefined if there is none. */
export async function findControl(
  what: Cancellable,
  scope: OrderScope,
  { documents }: Pick<RouteDeps, "documents">,
): Promise<GivenOrder | undefined> {
  const { kind, key } = cancellationKeyOf(what);
  const found = (await documents.read([{ kind, key }])).get(kind, key);
  return givenIn(found?.value.orders, what, scope);
}

function givenIn(
  orders: readonly CancellationOrder[] | undefined,
  what: Cancellable,
  scope: OrderScope,
): GivenOrder | undefined {
  const named = scope.indexes === undefined ? null : "";
  const order = orderIn(orders ?? [], { client: scope.client, indexes: named });
  return order && { order, as: "agent" in what ? "agent" : "request" };
}

/** The rows that an order may end, page by page. */
interface OrderPages {
  given: GivenOrder;
  /** The id below which the pages begin. Undefined: at the newest call. */
  before: string | undefined;
  /** Reads the page below an id. */
  pageBelow(before: string | undefined): Promise<Pick<Page, "rows" | "next">>;
}

/**
 * Cancels rows page by page, newest first, up to the maximum of one answer.
 *
 * @returns the number of cancelled rows, and `next` if more may follow below that id
 */
export async function cancelPages(
  c: Context<ApiEnv>,
  { given, before, pageBelow }: OrderPages,
  deps: RouteDeps,
): Promise<{ cancelled: number; next?: string }> {
  let below = before;
  let cancelled = 0;
  for (let page = 0; page < answerPages; page++) {
    const { rows, next } = await pageBelow(below);
    cancelled += await cancelRows(c, { given, rows }, deps);
    if (next === undefined) return { cancelled };
    below = next;
  }
  return below === undefined ? { cancelled } : { cancelled, next: below };
}

/**
 * Counts the calls that a request's order ends: those just cancelled, those that still wait, and those without a row.
 * Null if unknown, as no accepted request has the id.
 *
 * @param row one of the request's rows. Undefined: there is none, and only the id has the number of calls
 */
export async function countOrdered(
  { requestId, row, indexes }: { requestId: string; row: CallRow | undefined } & Indexes,
  { given, cancelled }: { given: GivenOrder; cancelled: number },
  ledger: CallLedger,
): Promise<number | null> {
  const total = row?.batchCalls ?? callsIn(requestId);
  if (total === 0 || total > batchCallsMax) return null;
  const ids =
    indexes === undefined
      ? callIdsOf(requestId, 0, total)
      : [...new Set(indexes)].flatMap((n) => (n < total ? toCallId(requestId, n) : []));
  if (row === undefined) return ids.length;
  let others = 0;
  for await (const [id, one] of lastTriesOf(ids, ledger, true)) {
    if (!isEndedBy({ ...one, id }, given)) others += 1;
  }
  return ids.length - others + cancelled;
}

/** True if an order covers the row's call, and the call's state allows cancelling. */
function isEndedBy(row: CallRow, given: GivenOrder): boolean {
  return states[row.state].actions.includes("cancel") && isCovered(row, given);
}

/** Cancels the waiting rows that the order ends. Returns the number of cancelled rows. */
export async function cancelRows(
  c: Context<ApiEnv>,
  { given, rows }: { given: GivenOrder; rows: readonly CallRow[] },
  deps: RouteDeps,
): Promise<number> {
  const { ledger, clock, random } = deps;
  const at = clock.now();
  const by = c.get("caller").tokenId;
  const action =
    given.order.client === null
      ? ({ to: "CANCELLED" } as const)
      : ({ to: "CANCELLED", reason: "client" } as const);
  // An order names a call by its first try.
  const last = await readLastTries(rows, (ids) => ledger.read(ids));
  const changes = [...last].flatMap(([id, row]) => {
    if (!isEndedBy({ ...row, id }, given)) return [];
    const next = applyAction(row, { action, by }, { version: random.version(), at });
    return next === undefined ? [] : [{ next, seen: row.version }];
  });
  if (changes.length === 0) return 0;
  // A row that another write has changed is skipped. If it waits again, the order cancels it when it is due.
  const done = await ledger.write(changes);
  const written = changes.flatMap(({ next }, index) => (done[index] === true ? [next] : []));
  await countActions(written, deps);
  return written.length;
}
