import type { DialOutcome } from "../../../shared/providers/provider.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import { createProbe } from "../breakers/circuit-breaker.ts";
import { askChecks } from "./ask-checks.ts";
import { recordAnswerTime, type Sent, sendRequest } from "./send-request.ts";
import { claimCall, findObstacle, takeUnderClaim } from "./claim-call.ts";
import {
  type CallSlots,
  type Claim,
  type Delivery,
  type Permit,
  type Refusal,
  type Result,
  settleBy,
  toWaiting,
} from "./delivery.ts";
import type { Taken } from "../../../shared/rules/rule.ts";
import { prepareRequest } from "./prepare-request.ts";
import { settleSent, settleUnsent } from "./settle-call.ts";
import { failBeforeRequest } from "./stage-errors.ts";

/**
 * Dials one call: takes a slot, claims the call, checks it under the claim, sends one request and settles. A
 * call whose outcome is unknown is never sent again, except to a provider that deduplicates requests.
 */
export async function dialCall(dial: Dial, delivery: Delivery): Promise<Result> {
  const { clock } = delivery.deps;
  // Rows are dispatched some seconds before they are due, and wait without a slot.
  await clock.sleep(dial.dialAt - clock.now());
  if (dial.target.route.checks !== undefined && dial.permission === undefined) {
    const asked = await askChecks(dial, delivery);
    if ("kind" in asked) return { kind: "not_dialed", verdict: asked };
    return dialCall({ ...dial, permission: asked }, delivery);
  }
  const firstDueAt = clock.now();
  using slots = await takeSlots(dial, delivery);
  if (slots === undefined) {
    return { kind: "not_dialed", verdict: { kind: "hold", reason: "no_capacity", firstDueAt } };
  }
  using _writer = delivery.writes.join();
  if (delivery.ledger.isDown) return { kind: "retry" };
  // The call may have waited minutes for its slot since the decision.
  const obstacle = await findObstacle(dial, delivery);
  if (obstacle !== undefined) return { kind: "not_dialed", verdict: obstacle };
  const claim = await claimCall(dial, delivery);
  if ("kind" in claim) return claim;
  return await dialClaimed(claim, slots, delivery);
}

/** Dials a claimed call in three stages: before the request, the request, and after it. */
async function dialClaimed(claim: Claim, slots: CallSlots, delivery: Delivery): Promise<Result> {
  const { deps } = delivery;
  const { taken, permit } = takeUnderClaim(claim, delivery);
  const sent = await checkAndSend(claim, { taken, permit, slots }, delivery).catch(
    (error: unknown) => failBeforeRequest(error, claim, deps),
  );
  if ("refused" in sent) {
    slots.release();
    return settleUnsent({ claim, taken }, sent, delivery);
  }
  const held = { claim, taken };
  // The next call can be claimed while this one is settled, in the same round trip.
  if (isAboutCall(sent.outcome)) {
    slots.release();
    const settling = settleSent(held, sent, delivery);
    const [result] = await Promise.all([settling, recordAnswerTime(claim, sent, deps)]);
    return result;
  }
  // After an unanswered or refused request, the delivery sends no more calls of the backlog. The slots are kept until
  // the breaker has counted it, as it may open.
  delivery.stopped.add(claim.dial.backlog);
  return settleSent(held, sent, delivery);
}

/** Everything that a claimed call takes, with its permit and its slots. */
interface Taking {
  taken: Taken;
  permit: Promise<Permit | undefined>;
  slots: CallSlots;
}

async function checkAndSend(
  claim: Claim,
  { taken, permit: asked, slots }: Taking,
  delivery: Delivery,
): Promise<Refusal | Sent> {
  const verdict = await taken.judge();
  if (verdict !== undefined) return { refused: settleBy(verdict, claim) };
  const permit = await asked;
  if (permit === undefined) return { refused: toWaiting("pace", claim) };
  await using probe = createProbe(claim.row, delivery.deps);
  const ready = await prepareRequest(claim, { permit, slots, probe }, delivery);
  if ("refused" in ready) return ready;
  const sent = await sendRequest(claim, ready.read, delivery);
  if (!("refused" in sent)) probe.keep();
  return sent;
}

/** True if the answer concerns only this call, so that the backlog's next call may go. */
function isAboutCall(outcome: DialOutcome): boolean {
  const { kind } = outcome;
  if (kind === "not_placed") return outcome.blamesNumber === true;
  return kind === "placed" || kind === "rejected" || kind === "forbidden";
}

/** Takes a slot for a call. It takes a connection later, right before its request. */
async function takeSlots({ target }: Dial, { slots }: Delivery): Promise<CallSlots | undefined> {
  const slot = await slots.acquire(target.account.name);
  if (slot === undefined) return undefined;
  const held: CallSlots = {
    connection: undefined,
    release() {
      held.connection?.release();
      slot.release();
    },
    [Symbol.dispose]: () => held.release(),
  };
  return held;
}
