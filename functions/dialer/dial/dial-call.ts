import { errorForLog } from "#shared/lib/log.ts";
import { unconnected } from "#shared/rules/gates.ts";
import { hold } from "#shared/rules/rule.ts";
import { UnreadableError } from "#shared/ports/unreadable.ts";
import { behindOthers, type Dial } from "../decide/decide-delivered.ts";
import { checkCall, type Held, takeUnderClaim } from "./check.ts";
import { claimCall } from "./claim.ts";
import type { CallSlots, DialBatch, Refusal, Result } from "./dial-batch.ts";
import { type Sent, sendRequest } from "./send.ts";
import { settleCall } from "./settle.ts";

/**
 * Dials one call in four stages: claims it, checks it under the claim, sends one request, and settles. A call whose
 * outcome is unknown is never sent again, except to a provider that deduplicates requests.
 */
export async function dialCall(dial: Dial, batch: DialBatch): Promise<Result> {
  const { clock } = batch.deps;
  // Rows are dispatched some seconds before they are due, and wait without a slot.
  await clock.sleep(dial.dialAt - clock.now());
  return batch.paced.claim(dial.target.account.name, () => dialDue(dial, batch));
}

async function dialDue(dial: Dial, batch: DialBatch): Promise<Result> {
  const { deps, ledger } = batch;
  const { clock, log } = deps;
  const firstDueAt = clock.now();
  using slots = await takeSlots(dial.target.account.name, batch);
  if (slots === undefined) {
    return { kind: "not_dialed", verdict: { ...unconnected, firstDueAt } };
  }
  using _writer = batch.writes.join();
  if (ledger.isDown) return { kind: "retry" };
  const claim = await claimCall(dial, batch);
  if ("kind" in claim) return claim;
  const held = takeUnderClaim(claim, slots, batch);
  const sent = await checkAndSend(held, batch).catch((error: unknown): Refusal => {
    // Nothing was sent, as an error of the request itself is its outcome.
    log("alarm", "ledger.unreachable", { call_id: claim.row.id, error: errorForLog(error) });
    const isUnread = error instanceof UnreadableError;
    return { refused: isUnread ? behindOthers(clock.now()) : hold("not_checked") };
  });
  return await settleCall(held, sent, batch);
}

/** Sends a request that passes all checks. If none was sent, the probe is released for another call. */
async function checkAndSend(held: Held, batch: DialBatch): Promise<Refusal | Sent> {
  await using probe = held.probe;
  const ready = await checkCall(held, batch);
  if ("refused" in ready) return ready;
  const { claim } = held;
  const sent = await batch.paced.send(claim.dial.target.account.name, () =>
    sendRequest(claim, ready, batch.deps),
  );
  if (!("refused" in sent)) probe.spend();
  return sent;
}

/** Takes a slot for a call. It takes a connection later, right before its request. */
async function takeSlots(account: string, { slots }: DialBatch): Promise<CallSlots | undefined> {
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
