import { errorForLog } from "../../../shared/lib/log.ts";
import { hold } from "../../../shared/rules/rule.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import { createProbe } from "../breakers/circuit-breaker.ts";
import { checkCall, takeUnderClaim } from "./check.ts";
import { claimCall } from "./claim.ts";
import type { CallSlots, Delivery, Held, Refusal, Result } from "./delivery.ts";
import { type Sent, sendRequest } from "./send.ts";
import { settleCall } from "./settle.ts";

/**
 * Dials one call in four stages: claims it, checks it under the claim, sends one request, and settles. A call whose
 * outcome is unknown is never sent again, except to a provider that deduplicates requests.
 */
export async function dialCall(dial: Dial, delivery: Delivery): Promise<Result> {
  const { deps, ledger } = delivery;
  const { clock, log } = deps;
  // Rows are dispatched some seconds before they are due, and wait without a slot.
  await clock.sleep(dial.dialAt - clock.now());
  const firstDueAt = clock.now();
  using slots = await takeSlots(dial.target.account.name, delivery);
  if (slots === undefined) {
    return { kind: "not_dialed", verdict: { kind: "hold", reason: "no_capacity", firstDueAt } };
  }
  using _writer = delivery.writes.join();
  if (ledger.isDown) return { kind: "retry" };
  const claim = await claimCall(dial, delivery);
  if ("kind" in claim) return claim;
  const held = { claim, slots, ...takeUnderClaim(claim, delivery) };
  const sent = await checkAndSend(held, delivery).catch((error: unknown): Refusal => {
    // Nothing was sent, as an error of the request itself is its outcome.
    log("alarm", "ledger.unreachable", { call_id: claim.row.id, error: errorForLog(error) });
    return { refused: hold("not_checked") };
  });
  return await settleCall(held, sent, delivery);
}

/** Sends a request that passes all checks. The breaker's probe is released for another call unless one was sent. */
async function checkAndSend(held: Held, delivery: Delivery): Promise<Refusal | Sent> {
  await using probe = createProbe(held.claim.row, delivery.deps);
  const ready = await checkCall(held, probe, delivery);
  if ("refused" in ready) return ready;
  const sent = await sendRequest(held.claim, ready, delivery.deps);
  if (!("refused" in sent)) probe.keep();
  return sent;
}

/** Takes a slot for a call. It takes a connection later, right before its request. */
async function takeSlots(account: string, { slots }: Delivery): Promise<CallSlots | undefined> {
  const slot = await slots.acquire(account);
  if (slot === undefined) return undefined;
  const taken: CallSlots = {
    connection: undefined,
    release() {
      taken.connection?.release();
      slot.release();
    },
    [Symbol.dispose]: () => taken.release(),
  };
  return taken;
}
