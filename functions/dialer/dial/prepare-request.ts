import { connectedMs } from "../../../shared/lib/timing.ts";
import { listOpenBreakers } from "../../../shared/policy/breakers.ts";
import type { ControlDocuments } from "../../../shared/policy/controls.ts";
import type { Probe } from "../breakers/circuit-breaker.ts";
import { leadMs } from "../runtime/time-limits.ts";
import { permitTime } from "../../../shared/rules/gates.ts";
import { judgeOrders } from "./claim-call.ts";
import {
  type CallSlots,
  type Claim,
  type Delivery,
  type Refusal,
  toWaiting,
  type Permit,
} from "./delivery.ts";
import { judgeClock } from "./send-request.ts";

/** Resources that a request needs besides its claim. */
interface Needed {
  permit: Permit;
  slots: CallSlots;
  probe: Probe;
}

/**
 * Waits for the permit's time and checks what may have changed meanwhile: controls, breakers, the clock. A missed
 * permit is replaced.
 *
 * @returns the documents that allow the request, or why it may not be sent
 */
export async function prepareRequest(
  claim: Claim,
  { permit: first, slots, probe }: Needed,
  delivery: Delivery,
): Promise<Refusal | { read: ControlDocuments }> {
  const { deps, permits, documents } = delivery;
  const { account, breakers } = claim.dial.target;
  const waits = (reason: string): Refusal => ({ refused: toWaiting(reason, claim) });
  let permit: Permit | undefined = first;
  for (let tries = 1; permit !== undefined; tries++) {
    const isConnected = await waitForPermit(permit, { account: account.name, slots }, delivery);
    if (!isConnected) return waits("no_capacity");
    // The call may have waited for seconds, and operators may have given orders meanwhile.
    const read = await documents(deps.clock.now());
    const ordered = judgeOrders(claim, { read, judges: permitTime }, delivery);
    if (ordered !== undefined) return { refused: ordered };
    if (!(await probe.take(listOpenBreakers(breakers, read)))) return waits("breaker_open");
    const late = judgeClock(claim, {}, deps);
    if (late !== undefined) return { refused: late };
    if (permits.isValid(account, permit)) return { read };
    slots.connection?.release();
    slots.connection = undefined;
    permit = tries < permits.triesMax ? await permits.take(account) : undefined;
  }
  return waits("permit_void");
}

/**
 * Sleeps until a permit's time. Two round trips before, it has the documents read again that would be too old by
 * then, so that nothing must be read at the permit's time. Resolves to false if there was no connection.
 */
async function waitForPermit(
  { permitAt }: Permit,
  { account, slots }: { account: string; slots: CallSlots },
  { deps: { clock, memory }, connections, documents }: Delivery,
): Promise<boolean> {
  await clock.sleep(permitAt - connectedMs - 2 * leadMs(memory) - clock.now());
  await documents(permitAt);
  await clock.sleep(permitAt - connectedMs - clock.now());
  slots.connection ??= await connections.acquire(account);
  if (slots.connection === undefined) return false;
  await clock.sleep(permitAt - clock.now());
  return true;
}
