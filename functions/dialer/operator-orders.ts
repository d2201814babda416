import type { Call } from "../../shared/call.ts";
import type { Order } from "../../shared/ledger/call-ledger.ts";
import { operatorReason } from "../../shared/ledger/state-machine.ts";
import { cancelNamesOf, holdingOrder, isCancelled, neverCalled } from "../../shared/orders.ts";
import { traceOfNumber } from "../../shared/phone-number.ts";
import type { Route } from "../../shared/providers/index.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import type { Written } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";

/** So old the orders and the do-not-call list may be by which a call goes. */
const ordersAgeMsMax = 5_000;

/** The orders that may concern these calls. */
export function ordersFor(
  calls: readonly Call[],
  { ledger, clock }: Pick<ReadyDeps, "ledger" | "clock">,
): Promise<Order[]> {
  return ledger.ordersFor(cancelNamesOf(calls), clock.now());
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

/**
 * What `read` answers, read anew where it was last asked for more than 5 s ago, or failed. Its time is that at which it
 * was asked: a slow answer is no younger.
 */
function keptFresh<Said>(read: () => Promise<Said>, { clock }: Pick<ReadyDeps, "clock">) {
  let last: { said: Promise<Said>; at: number } | undefined;
  return (): Promise<Said> => {
    const now = clock.now();
    // A clock that has been set back tells no age.
    if (last === undefined || now < last.at || now - last.at > ordersAgeMsMax) {
      const asked = { said: withTimeLimit(read(), 5), at: now };
      last = asked;
      asked.said.catch(() => {
        if (last === asked) last = undefined; // who asks next asks anew
      });
    }
    return last.said;
  };
}

/** The orders that may concern the calls of one delivery, at most 5 s old whenever they are asked for. */
export function createOrders(calls: readonly Call[], deps: ReadyDeps): () => Promise<Order[]> {
  return keptFresh(() => ordersFor(calls, deps), deps);
}

/**
 * What operators have said against calls that are about to be dialed. Of a whole delivery it is read in one go and
 * holds for 5 s: a lane may be minutes behind its delivery's beginning.
 *
 * @param calls those of the delivery that may be dialed
 */
export function createOperatorCheck(
  calls: readonly Call[],
  ordersNow: () => Promise<Order[]>,
  deps: ReadyDeps,
) {
  const { ledger, settings, log } = deps;
  const hashOf = (call: Call) =>
    traceOfNumber(call.request.phone_number, settings.hashKey).numberHash;
  const hashes = [...new Set(calls.map(hashOf))];
  const neverNow = keptFresh(() => neverCalled(hashes, ledger, settings.hashKey), deps);

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
    const [standing, never, isPlaced] = await withTimeLimit(
      Promise.all([ordersNow(), neverNow(), wasPlacedBefore(call)]),
      5,
    );
    if (isPlaced) return { kind: "write", state: "CANCELLED", reason: "placed_before" };
    const isNever = never.has(hashOf(call));
    if (isNever) return { kind: "write", state: "REJECTED", reason: "do_not_call" };
    return byOrder(call, route, standing);
  };
}
