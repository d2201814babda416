import DataLoader from "dataloader";
import type { Call } from "../../shared/call.ts";
import type { Order } from "../../shared/ledger/call-ledger.ts";
import { operatorReason } from "../../shared/ledger/state-machine.ts";
import { cancelNamesOf, holdingOrder, isCancelled, neverCalled } from "../../shared/orders.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import type { Route } from "../../shared/providers/index.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import type { Written } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";

/** So old the orders may be by which a call goes. */
const ordersAgeMsMax = 5_000;

/** The orders that may concern these calls. */
export async function ordersFor(
  calls: readonly Call[],
  { ledger, clock }: Pick<ReadyDeps, "ledger" | "clock">,
): Promise<Order[]> {
  const [holds, cancels] = await Promise.all([
    ledger.holdOrders(),
    ledger.ordersNamed(cancelNamesOf(calls), clock.now()),
  ]);
  return [...holds, ...cancels];
}

/** What an operator's order means for a call: it is cancelled, or waits in the order's line, where it costs no message. */
export function byOrder(
  call: Call,
  route: Route | undefined,
  orders: readonly Order[],
): Written | undefined {
  if (isCancelled(call, orders)) {
    return { kind: "write", state: "CANCELLED", reason: operatorReason };
  }
  const held = route && holdingOrder(call, route, orders);
  if (held === undefined) return undefined;
  const waits = { reason: "operator_hold", dueAt: call.acceptedAt, line: held.name };
  return { kind: "write", state: "DEFERRED", ...waits };
}

/** What operators have said against calls that are about to be dialed; those of one delivery. */
export function createOperatorCheck(calls: readonly Call[], deps: ReadyDeps) {
  const { ledger, clock, settings, log } = deps;
  const never = new DataLoader(
    async (hashes: readonly string[]) => {
      const found = await neverCalled([...hashes], ledger, settings.hashKey);
      return hashes.map((hash) => found.has(hash));
    },
    { cache: false, maxBatchSize: 100 },
  );
  let orders: { read: Promise<Order[]>; at: number } | undefined;
  /** A lane may be minutes behind its delivery's beginning. */
  async function ordersNow(): Promise<Order[]> {
    const now = clock.now();
    if (orders === undefined || now - orders.at > ordersAgeMsMax) {
      orders = { read: ordersFor(calls, deps), at: now };
    }
    return orders.read.catch((error: unknown) => {
      orders = undefined; // the next call asks again
      throw error;
    });
  }

  /** Whether the call that this one was made instead of turned out to be placed after all. */
  async function wasPlacedBefore({ id, redialOf }: Call): Promise<boolean> {
    if (redialOf === undefined) return false;
    const before = (await ledger.read([redialOf])).get(redialOf);
    if (before?.state !== "PLACED") return false;
    log("alarm", "call.placed_before", { call_id: id, reason: redialOf });
    return true;
  }

  /** @throws where the ledger cannot be read: nobody is dialed then */
  return async (call: Call, route: Route): Promise<Written | undefined> => {
    const { numberHash } = traceOfNumber(call.request.phone_number, settings.hashKey);
    const [standing, isNever, isPlaced] = await withTimeLimit(
      Promise.all([ordersNow(), never.load(numberHash), wasPlacedBefore(call)]),
      5,
    );
    if (isPlaced) return { kind: "write", state: "CANCELLED", reason: "placed_before" };
    if (isNever) return { kind: "write", state: "REJECTED", reason: "do_not_call" };
    return byOrder(call, route, standing);
  };
}
