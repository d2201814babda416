import { connectedMs } from "#shared/lib/timing.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { type Send, Withheld } from "#shared/lib/http-client.ts";
import type { ControlDocuments } from "#shared/policy/ledger-epoch.ts";
import {
  clock as byClock,
  lapsed,
  orders,
  permitTime,
  probedBy,
  takes,
  unconnected,
  unprobed,
} from "#shared/rules/gates.ts";
import { findVerdict, hold, takeAll, type Taken, type Verdict } from "#shared/rules/rule.ts";
import { createProbe, type Probe } from "../breakers/circuit-breaker.ts";
import type { Permit } from "../record/permits.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { leadMs } from "../runtime/time-limits.ts";
import type { CallSlots, Claim, DialBatch, Refusal } from "./dial-batch.ts";

/** A claim with everything that was taken under it. */
export interface Held {
  claim: Claim;
  slots: CallSlots;
  taken: Taken;
  /** Undefined: the account has no permit in time. */
  permit: Promise<Permit | undefined>;
  /** Taken last, if the call is the probe of an open breaker. */
  probe: Probe;
}

/** A call that may go: the documents that permit it, and the last look before its phone rings. */
export interface Ready {
  read: ControlDocuments;
  lastLook: LastLook;
}

/**
 * Takes in parallel, under the claim, what the call needs: its place in the number's cap, a live call, a call of the
 * account's day, and a permit. Orders are judged at the permit's time, before the request.
 */
export function takeUnderClaim(
  claim: Claim,
  slots: CallSlots,
  { deps, caps, days, live, permits }: DialBatch,
): Held {
  const { ledger, documents, clock, log } = deps;
  const permit = permits.take(claim.dial.target.account);
  const context = { ledger, documents, clock, log, caps, days, lines: live, permit };
  const taken = takeAll(takes, claim, context);
  return { claim, slots, taken, permit, probe: createProbe(claim.row, deps) };
}

/**
 * Waits for what a claimed call takes, and for its permit's time. Then checks what may have changed meanwhile: controls,
 * breakers, the clock. A missed permit is replaced.
 */
export async function checkCall(
  { claim, slots, taken, permit: first, probe }: Held,
  batch: DialBatch,
): Promise<Refusal | Ready> {
  const { deps, permits, documents } = batch;
  const { target } = claim.dial;
  const { account } = target;
  const untaken = await taken.judge();
  if (untaken !== undefined) return { refused: untaken };
  let permit = await first;
  for (let tries = 1; permit !== undefined; tries++) {
    const waited = await waitForPermit(permit, { account: account.name, slots }, batch);
    if (waited === undefined) return { refused: unconnected };
    // The call may have waited for seconds, and operators may have given orders meanwhile.
    const read = await documents(deps.clock.now());
    const known = { at: deps.clock.now(), documents: read, stopped: batch.stopped };
    const ordered = findVerdict(permitTime, claim.dial, known);
    if (ordered !== undefined) return { refused: ordered };
    if (!(await probe.take(probedBy(target, read)))) return { refused: unprobed };
    const late = judgeClock(claim, {}, deps);
    if (late !== undefined) return { refused: late };
    if (await permits.leave(account, permit, waited)) {
      return { read, lastLook: createLastLook(claim, read, batch) };
    }
    slots.connection?.release();
    slots.connection = undefined;
    permit = tries < permits.triesMax ? await permits.take(account) : undefined;
  }
  return { refused: hold("permit_void") };
}

/**
 * Sleeps until a permit's time. Two round trips before, documents that would be too old by then are read again, so
 * that nothing must be read at the permit's time.
 *
 * @returns true for `isCrowded` if the permit's time passed in the wait for a connection; undefined if none was free
 */
async function waitForPermit(
  { permitAt }: Permit,
  { account, slots }: { account: string; slots: CallSlots },
  { deps: { clock, memory }, connections, documents }: DialBatch,
): Promise<{ isCrowded: boolean } | undefined> {
  await clock.sleep(permitAt - connectedMs - 2 * leadMs(memory) - clock.now());
  await documents(permitAt);
  await clock.sleep(permitAt - connectedMs - clock.now());
  const isInTime = clock.now() <= permitAt;
  slots.connection ??= await connections.acquire(account);
  if (slots.connection === undefined) return undefined;
  const isCrowded = isInTime && clock.now() > permitAt;
  await clock.sleep(permitAt - clock.now());
  return { isCrowded };
}

/**
 * Asks the clock whether a claimed call may go: its age, its checks, its expiry and the callee's hours.
 *
 * @param preliminaryMs time that the adapter's earlier requests may have taken
 */
function judgeClock(
  { dial, row, startedAt }: Pick<Claim, "dial" | "row" | "startedAt">,
  { preliminaryMs = 0 }: { preliminaryMs?: number },
  { clock, settings }: Pick<DialerDeps, "clock" | "settings">,
): Verdict | undefined {
  const { permission } = dial;
  const now = clock.now();
  const claimedAt = Math.min(startedAt, row.claimedAt ?? startedAt);
  const { schedule } = settings;
  return findVerdict(byClock, dial, {
    now,
    at: now,
    schedule,
    permission,
    claimedAt,
    preliminaryMs,
  });
}

/** The last look at a claimed call, right before the request by which the phone rings. */
export interface LastLook {
  /** Returns a `Send` that throws Withheld if the call may not go: see `DialRequest`. */
  guarded(send: Send, secondsMax?: number): Send;
  /** Returns why the request was withheld. */
  refused(): Verdict;
}

/** @param read the documents by which controls were checked before */
export function createLastLook(
  claim: Claim,
  read: ControlDocuments,
  { deps, documents }: Pick<DialBatch, "deps" | "documents">,
): LastLook {
  const { timeoutSeconds } = claim.dial.target.account;
  let refused: Verdict | undefined;

  async function look(preliminaryMs: number): Promise<Verdict | undefined> {
    try {
      const now = await documents(deps.clock.now());
      const known = { at: deps.clock.now(), documents: now };
      if (now !== read) refused = findVerdict(orders, claim.dial, known);
    } catch (error) {
      deps.log("alarm", "ledger.unreachable", { call_id: claim.row.id, error: errorForLog(error) });
      refused = hold("not_checked");
    }
    return refused ?? judgeClock(claim, { preliminaryMs }, deps);
  }

  return {
    guarded: (send, secondsMax = timeoutSeconds) => {
      const preliminaryMs = (timeoutSeconds - secondsMax) * 1000;
      return async (url, sent) => {
        refused = await look(preliminaryMs);
        if (refused !== undefined) throw new Withheld(refused.reason);
        const mayLeave = () => {
          refused = judgeClock(claim, { preliminaryMs }, deps);
          return refused === undefined;
        };
        return send(url, { ...sent, mayLeave });
      };
    },
    refused: () => refused ?? lapsed,
  };
}
