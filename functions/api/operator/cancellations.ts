import type { Context } from "hono";
import type { CallRow } from "../../../shared/calls/call-row.ts";
import { indexSetOf } from "../../../shared/calls/index-set.ts";
import { acted } from "../../../shared/calls/state-machine.ts";
import type { CancellationOrder } from "../../../shared/documents/kinds.ts";
import {
  type Cancellable,
  cancellationKeyOf,
  isCovered,
} from "../../../shared/documents/orders.ts";
import type { Page } from "../../../shared/ledger/call-ledger.ts";
import { randomVersion } from "../../../shared/platform/random-id.ts";
import * as z from "../../../shared/platform/zod.ts";
import type { ApiEnv, RouteDeps } from "../context.ts";
import { changeDocument } from "./change-document.ts";
import { countActs } from "./decisions.ts";
import { nextCursor } from "./fields.ts";

/** Rows of one page, and maximum pages of one answer. */
export const pageRows = 50;
export const answerPages = 20;

/** Each answer cancels a part of the calls and has a cursor for the next. */
export const cancelledSchema = z.strictObject({ cancelled: z.int(), cursor: nextCursor });
export type Cancelled = z.infer<typeof cancelledSchema>;

/** The client of an order, and the calls of a request that it names. */
export interface OrderScope {
  /** The client whose calls alone it ends; null: an operator's order. */
  client: string | null;
  /** Absent: all calls. */
  indexes?: readonly number[] | undefined;
}

/**
 * Writes an order, by which the dialer cancels calls that have no row yet. A document has two orders of a client at most:
 * one for all its calls, and one for those that it has named.
 */
export async function giveOrder(
  c: Context<ApiEnv>,
  deps: RouteDeps,
  what: Cancellable,
  scope: OrderScope,
): Promise<CancellationOrder | undefined> {
  const { documents, clock, retentionMs } = deps;
  const { client, indexes } = scope;
  const at = clock.now();
  const by = c.get("caller").tokenId;
  const changed = await changeDocument(
    cancellationKeyOf(what),
    at + retentionMs,
    (standing) => {
      const { orders = [] } = standing?.value ?? {};
      const earlier = orderIn(orders, scope);
      const order = {
        client,
        at: Math.max(at, earlier?.at ?? 0),
        by,
        indexes: indexes === undefined ? null : indexSetOf(indexes, earlier?.indexes ?? ""),
      };
      return { of: what, orders: [...orders.filter((one) => one !== earlier), order] };
    },
    documents,
    deps,
  );
  return changed && orderIn(changed.orders, scope);
}

/** Resolves to the order that an earlier request has given; undefined if there is none. */
export async function standingOrder(
  { documents }: Pick<RouteDeps, "documents">,
  what: Cancellable,
  scope: OrderScope,
): Promise<CancellationOrder | undefined> {
  const { kind, key } = cancellationKeyOf(what);
  const found = (await documents.read([{ kind, key }])).get(kind, key);
  return found && orderIn(found.value.orders, scope);
}

function orderIn(orders: readonly CancellationOrder[], { client, indexes }: OrderScope) {
  const isForAll = indexes === undefined;
  return orders.find((one) => one.client === client && (one.indexes === null) === isForAll);
}

/**
 * Cancels rows page by page, newest first, as many as one answer may.
 *
 * @param before id below which the pages begin
 * @returns the number of cancelled rows; `next`, if more may follow below that id
 */
export async function cancelPages(
  c: Context<ApiEnv>,
  deps: RouteDeps,
  order: CancellationOrder,
  before: string | undefined,
  pageBelow: (before: string | undefined) => Promise<Pick<Page, "rows" | "next">>,
): Promise<{ cancelled: number; next?: string }> {
  let below = before;
  let cancelled = 0;
  for (let page = 0; page < answerPages; page++) {
    const { rows, next } = await pageBelow(below);
    cancelled += await cancelRows(c, deps, order, rows);
    if (next === undefined) return { cancelled };
    below = next;
  }
  return below === undefined ? { cancelled } : { cancelled, next: below };
}

/** Cancels the rows that wait and that the order ends. Returns the number of cancelled rows. */
export async function cancelRows(
  c: Context<ApiEnv>,
  deps: RouteDeps,
  order: CancellationOrder,
  rows: readonly CallRow[],
): Promise<number> {
  const { ledger, clock, randomId } = deps;
  const at = clock.now();
  const by = c.get("caller").tokenId;
  const act =
    order.client === null
      ? ({ to: "CANCELLED" } as const)
      : ({ to: "CANCELLED", reason: "client" } as const);
  const changes = rows.flatMap((row) => {
    if (row.state !== "WAITING" || !isCovered(row, order)) return [];
    const next = acted(row, act, by, { version: randomVersion(randomId()), at });
    return next === undefined ? [] : [{ next, seen: row.version }];
  });
  if (changes.length === 0) return 0;
  // A row that another write has changed is left alone: if it waits again, the order cancels it when it is due.
  const done = await ledger.write(changes);
  const written = changes.flatMap(({ next }, index) => (done[index] === true ? [next] : []));
  await countActs(written, deps);
  return written.length;
}
