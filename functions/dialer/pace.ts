import type { Call } from "../../shared/call.ts";
import { accountOf, type DialPlan } from "../../shared/dial-plan.ts";
import type { CallRow, DuePlace, Hold } from "../../shared/ledger/call-ledger.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import type { Pace } from "../../shared/schedule/pacing.ts";
import { decideWaiting, type Dial, slotReason, waitMsMax } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { type Unclaimed, writeUnclaimed } from "./write-decisions.ts";

/** An older slot is void: calls that come late must not go all at once. */
const slotAgeMsMax = 500;
/** So far ahead slots are given. */
const aheadMs = 75_000;
/** Rows of a line that are looked at in one go; whole calls, up to 32 KiB each. */
const pageRows = 200;

function paceOf(route: Route, plan: DialPlan): Pace | undefined {
  return accountOf(route, plan).pace;
}

/** Such a call waits in its account's line: in the order in which calls were accepted. */
export function inLine({ call, route, seenDueAt }: Dial): Unclaimed {
  const line = accountNameOf(route);
  const dueAt = call.acceptedAt;
  return {
    call,
    seenDueAt,
    decision: { kind: "write", state: "DEFERRED", reason: "pace", dueAt, line },
  };
}

function atSlot(call: Call, seenDueAt: number | null, slot: number): Unclaimed {
  return {
    call,
    seenDueAt,
    decision: { kind: "write", state: "DEFERRED", reason: slotReason, dueAt: slot },
  };
}

/** Slots are given to no later than then: the next sweep is a minute away, and messages take a while. */
function slotsUntil(now: number, pace: Pace): number {
  return Math.max(now, Math.floor(now + aheadMs - pace.intervalUs / 1000));
}

/**
 * Gives slots to the calls of a delivery, unless others stand in line for them already.
 *
 * @returns the calls that go now, those of paced accounts at their slots; and what is to be written of the others
 */
export async function takeSlots(
  dials: readonly Dial[],
  { ledger, clock, settings }: ReadyDeps,
): Promise<{ going: Dial[]; writes: Unclaimed[] }> {
  const now = clock.now();
  const going: Dial[] = [];
  const wanting = new Map<string, Dial[]>();
  for (const dial of dials) {
    const { route, slot, resendOf } = dial;
    const isPaced = paceOf(route, settings.plan) !== undefined;
    if (!isPaced || isFresh(slot, now) || resendOf !== undefined) going.push(dial);
    else {
      const account = accountNameOf(route);
      wanting.set(account, [...(wanting.get(account) ?? []), dial]);
    }
  }
  const writes: Unclaimed[] = [];
  for (const [account, unordered] of wanting) {
    const all = unordered.toSorted((a, b) => a.call.acceptedAt - b.call.acceptedAt);
    const pace = all[0] && paceOf(all[0].route, settings.plan);
    const line = await ledger.due({ line: account, until: Number.MAX_SAFE_INTEGER, limit: 1 });
    const latest = Math.max(now, ...all.map(({ dialAt }) => dialAt));
    const slots =
      pace === undefined || line.length > 0
        ? []
        : await ledger.reserve({
            account,
            ...pace,
            count: all.length,
            now: latest,
            until: slotsUntil(latest, pace),
          });
    for (const [index, dial] of all.entries()) {
      const slot = slots[index];
      if (slot === undefined) writes.push(inLine(dial));
      else if (slot > now + waitMsMax) writes.push(atSlot(dial.call, dial.seenDueAt, slot));
      else going.push({ ...dial, slot, dialAt: slot });
    }
  }
  return { going, writes };
}

/**
 * Waits until a call's moment has come: that of its slot, or of another one where it is too late for that.
 *
 * @returns the moment; undefined where its account has none in the next seconds
 */
export async function waitForSlot(
  { route, slot, dialAt }: Dial,
  { ledger, clock, settings }: ReadyDeps,
): Promise<number | undefined> {
  await clock.sleep(Math.max(0, dialAt - clock.now()));
  const pace = paceOf(route, settings.plan);
  if (pace === undefined) return dialAt;
  const account = accountNameOf(route);
  let mine = slot;
  while (!isFresh(mine, clock.now())) {
    const now = clock.now();
    const request = { account, ...pace, count: 1, now, until: now + waitMsMax };
    [mine] = await ledger.reserve(request);
    if (mine === undefined) return undefined;
    await clock.sleep(Math.max(0, mine - clock.now()));
  }
  return mine;
}

function isFresh(slot: number | undefined, now: number): boolean {
  return slot !== undefined && now - slot <= slotAgeMsMax;
}

/**
 * Gives the slots of the next minute or so to those who have stood in an account's line longest. Calls whose hours
 * or time end before their slot are deferred or expire instead, so that they never block the head.
 */
export async function serveLine(
  account: string,
  holds: readonly Hold[],
  deps: ReadyDeps,
): Promise<void> {
  const { ledger, clock, random, settings } = deps;
  const { plan, schedule } = settings;
  const route = Object.values(plan.agents).find((one) => accountNameOf(one) === account);
  const pace = route && paceOf(route, plan);
  let after: DuePlace | undefined;
  for (;;) {
    const now = clock.now();
    const line = await ledger.due({
      line: account,
      until: Number.MAX_SAFE_INTEGER,
      after,
      limit: pageRows,
    });
    const last = line.at(-1);
    if (last === undefined) return;
    after = { dueAt: last.dueAt, id: last.id };
    const rows = await ledger.read(line.map(({ id }) => id));
    const decideAt = (call: Call, row: CallRow, at: number) =>
      decideWaiting(call, row, { plan, schedule, holds, now: at, fraction: random.fraction });
    const wanting: { call: Call; row: CallRow; dueAt: number }[] = [];
    const writes: Unclaimed[] = [];
    for (const { id } of line) {
      const row = rows.get(id);
      if (row?.line !== account || row.call === null || row.dueAt === null) continue;
      const { call, dueAt } = row;
      const decision = decideAt(call, row, now);
      if (decision.kind === "write") writes.push({ call, seenDueAt: dueAt, decision });
      else if (accountNameOf(decision.route) === account) wanting.push({ call, row, dueAt });
      else {
        const reason = "route_changed";
        const moved = { kind: "write", state: "DEFERRED", reason, dueAt: now } as const;
        writes.push({ call, seenDueAt: dueAt, decision: moved });
      }
    }
    const count = wanting.length;
    const slots =
      count === 0
        ? []
        : pace === undefined
          ? wanting.map(() => now) // the plan has been changed: they go as they come
          : await ledger.reserve({ account, ...pace, count, now, until: slotsUntil(now, pace) });
    let given = 0;
    for (const { call, row, dueAt } of wanting) {
      const slot = slots[given];
      if (slot === undefined) break;
      const decision = decideAt(call, row, slot);
      if (decision.kind === "dial") {
        given++;
        writes.push(atSlot(call, dueAt, slot));
      } else writes.push({ call, seenDueAt: dueAt, decision });
    }
    await writeUnclaimed(writes, deps);
    if (slots.length < count) return;
  }
}
