import { unreadable } from "#shared/ports/unreadable.ts";
import { givenUpSeconds } from "#shared/lib/timing.ts";
import { applyClaim } from "#shared/calls/transitions.ts";
import { errorForLog } from "#shared/lib/log.ts";
import {
  beforeClaim,
  beforeClaimByDocuments,
  beforeClaimInDelivery,
  lapsed,
} from "#shared/rules/gates.ts";
import { findVerdict, type Verdict } from "#shared/rules/rule.ts";
import type { Dial } from "../decide/decide-delivered.ts";
import { sendOutcome } from "../record/settle.ts";
import { toNewCall } from "../record/write-decisions.ts";
import { type Claim, type DialBatch, type Result } from "./dial-batch.ts";

/**
 * Returns why a call may not be dialed after all, because it may have waited minutes for its slot. This saves a
 * useless claim.
 */
export async function findObstacle(dial: Dial, batch: DialBatch): Promise<Verdict | undefined> {
  const { deps, stopped, deadline, documents } = batch;
  const { clock, settings } = deps;
  const { schedule } = settings;
  const now = clock.now();
  const { permission } = dial;
  const byClock = { now, at: now, schedule, permission, stopped, deadline };
  const late = findVerdict(beforeClaim, dial, byClock);
  // A fresh call that keeps its place is due now, as it may have waited.
  if (late !== undefined) return late.kind === "hold" ? { firstDueAt: now, ...late } : late;
  const { dialAt: at } = dial;
  const stop = findVerdict(beforeClaimInDelivery, dial, { ...byClock, at });
  if (stop !== undefined) return stop;
  const read = await documents(clock.now()).catch(() => undefined); // controls are read again under the claim
  return read && findVerdict(beforeClaimByDocuments, dial, { at, documents: read });
}

/** Claims a call, if nothing stands in its way. If the write's answer is lost, the row is read, as it may be claimed. */
export async function claimCall(dial: Dial, batch: DialBatch): Promise<Claim | Result> {
  const { deps, writes } = batch;
  const obstacle = await findObstacle(dial, batch);
  if (obstacle !== undefined) return { kind: "not_dialed", verdict: obstacle };
  const { ledger, clock, random, log } = deps;
  const { call, row, target } = dial;
  const { route, account } = target;
  const version = random.version();
  const at = Math.max(clock.now(), dial.dialAt); // a timer may fire a millisecond early
  const { checks } = dial.permission ?? {};
  const of = { newCall: toNewCall(call, deps), route, account, checks };
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
    const current = (await ledger.read([call.id])).get(call.id);
    if (current === unreadable) return { kind: "done" };
    if (current?.version === version) return toClaim();
    if (current !== undefined && current.version !== row?.version) return { kind: "done" };
  } catch (error) {
    log("alarm", "ledger.unreachable", { call_id: call.id, error: errorForLog(error) });
    batch.ledger.isDown = true;
  }
  // The claim is abandoned, but its write may still succeed. The `outcome` then settles it as not sent.
  const settlement = { id: call.id, claim: version, at: clock.now(), dueAt: clock.now() };
  const notSent = { ...settlement, state: "WAITING", reason: lapsed.reason } as const;
  await sendOutcome(notSent, givenUpSeconds, deps);
  return { kind: "retry" };
}
