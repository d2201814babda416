import { backlogOf } from "../../../shared/calls/call-row.ts";
import { applyClaim, claimAgeMsMax } from "../../../shared/calls/transitions.ts";
import { expiryOf } from "../../../shared/dial-plan/dial-plan.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import { mayProbe, listOpenBreakers } from "../../../shared/policy/breakers.ts";
import { decideByHours, findExpiryReason } from "../../../shared/policy/decide.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import { sendOutcome } from "../record/settle.ts";
import { toNewCall } from "../record/write-decisions.ts";
import type { Claim, Delivery, NotDialed, Result } from "./delivery.ts";

/** Time reserved after a request for the settlement, its repetitions and the acknowledgement of the message. */
const afterRequestMs = 20_000;
/** Delay of the `outcome` after a claim of unknown fate, so that the claim's write has surely landed or failed. */
const givenUpSeconds = 60;

/** Returns why a call may not be claimed after all, to spare a useless claim. */
export async function findObstacle(dial: Dial, delivery: Delivery): Promise<NotDialed | undefined> {
  return checkTime(dial, delivery) ?? (await checkBreakers(dial, delivery));
}

/** Looks at the call's expiry, the end of the invocation and the callee's hours. */
function checkTime(
  { call, route, row }: Dial,
  { deps: { clock, settings }, deadline }: Delivery,
): NotDialed | undefined {
  const now = clock.now();
  const expiresAt = expiryOf(call, settings.plan);
  if (now >= expiresAt) return { state: "EXPIRED", reason: findExpiryReason(row) };
  const { timeoutSeconds } = accountOf(route, settings.plan);
  if (now + claimAgeMsMax + timeoutSeconds * 1000 + afterRequestMs > deadline) {
    return { state: "WAITING", reason: "no_capacity", dueAt: row?.dueAt ?? now };
  }
  return decideByHours(
    settings.schedule.opening(call.request, route, { from: now, until: expiresAt }),
    now,
  );
}

async function checkBreakers(
  { call, route, row, dialAt }: Dial,
  { deps, documents, stopped }: Delivery,
): Promise<NotDialed | undefined> {
  const of = { client: call.client, agentId: call.request.agent_id };
  const dueAt = row?.dueAt ?? dialAt;
  if (stopped.has(backlogOf(of))) return { state: "WAITING", reason: "turn", dueAt };
  const read = await documents(deps.clock.now()).catch(() => undefined); // they are read again under the claim
  const open = read === undefined ? [] : listOpenBreakers(of, route, read);
  if (open.every((breaker) => mayProbe(breaker, of, dialAt))) return undefined;
  return { state: "WAITING", reason: "breaker_open", dueAt };
}

/** Claims a call. A claim whose answer was lost is read back: it may have been written. */
export async function claimCall(dial: Dial, delivery: Delivery): Promise<Claim | Result> {
  const { deps, writes } = delivery;
  const { ledger, clock, random, settings, log } = deps;
  const { call, row, route } = dial;
  const { timeoutSeconds } = accountOf(route, settings.plan);
  const version = random.version();
  const at = Math.max(clock.now(), dial.dialAt); // a timer may fire a millisecond early
  const of = { newCall: toNewCall(call, deps), route, timeoutSeconds };
  const next = applyClaim(row, of, { version, at });
  if (next === undefined) return { kind: "done" }; // the row is authoritative
  const toClaim = (): Claim => ({ dial, row: next, version, startedAt: clock.now() });
  try {
    const isClaimed = await writes.write({ next, seen: row?.version ?? null });
    return isClaimed ? toClaim() : { kind: "done" };
  } catch (error) {
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
  }
  try {
    const current = (await ledger.read([call.id])).rows.get(call.id);
    if (current?.version === version) return toClaim();
    if (current !== undefined && current.version !== row?.version) return { kind: "done" };
  } catch (error) {
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
    delivery.ledger.isDown = true;
  }
  // The claim is given up but may still land: the outcome then says that nothing was sent under it.
  const settlement = { id: call.id, claim: version, at: clock.now(), dueAt: clock.now() };
  const notSent = { ...settlement, state: "WAITING", reason: "claim_too_old" } as const;
  await sendOutcome(notSent, givenUpSeconds, deps);
  return { kind: "retry" };
}
