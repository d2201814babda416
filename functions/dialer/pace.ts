import type { Call } from "../../shared/call.ts";
import { accountOf, type DialPlan } from "../../shared/dial-plan.ts";
import type { CallRow, DuePlace, Hold } from "../../shared/ledger/call-ledger.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import type { Pace } from "../../shared/schedule/pacing.ts";
import { withTimeLimit } from "../../shared/time-limit.ts";
import { decideWaiting, type Dial, slotReason, waitMsMax } from "./decide.ts";
import type { ReadyDeps } from "./dialer.ts";
import { probeOf } from "./holds.ts";
import { ordersFor } from "./operator-orders.ts";
import { type Unclaimed, writeUnclaimed } from "./write-decisions.ts";

/** A moment given for a request that is older is void: requests that come late must not go all at once. */
const momentAgeMsMax = 500;
/** So far ahead slots are given. */
const aheadMs = 75_000;
const reserveSecondsMax = 5;
/** Rows of a line that are looked at in one go; whole calls, up to 32 KiB each. */
const pageRows = 200;

function paceOf(route: Route, plan: DialPlan): Pace | undefined {
  return accountOf(route, plan).pace;
}

/** Such a call waits in its account's line: in the order in which calls were accepted. */
export function inLine({ call, route, row }: Dial): Unclaimed {
  const line = accountNameOf(route);
  const dueAt = call.acceptedAt;
  return {
    call,
    row,
    decision: { kind: "write", state: "DEFERRED", reason: "pace", dueAt, line },
  };
}

function atSlot(call: Call, row: CallRow | undefined, slot: number): Unclaimed {
  return {
    call,
    row,
    decision: { kind: "write", state: "DEFERRED", reason: slotReason, dueAt: slot },
  };
}

/**
 * An account's time is kept twice. Slots are when calls are called up, each on a message of its own, which may come
 * late; the moment of a request is reserved when the call is there. So a late call takes what others have left
 * unused, and the rate holds whatever comes late.
 */
function slotsOf(account: string): string {
  return `slots of ${account}`;
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
    const { route, hasSlot, resendOf } = dial;
    const isPaced = paceOf(route, settings.plan) !== undefined;
    if (!isPaced || hasSlot || resendOf !== undefined) going.push(dial);
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
            account: slotsOf(account),
            ...pace,
            count: all.length,
            now: latest,
            until: slotsUntil(latest, pace),
          });
    for (const [index, dial] of all.entries()) {
      const slot = slots[index];
      if (slot === undefined) writes.push(inLine(dial));
      else if (slot > now + waitMsMax) writes.push(atSlot(dial.call, dial.row, slot));
      else going.push({ ...dial, dialAt: slot });
    }
  }
  return { going, writes };
}

/** The moment given for a request, or another one where it is void by now; waits for that. */
export async function freshMoment(
  route: Route,
  given: number | undefined,
  { ledger, clock, settings }: ReadyDeps,
): Promise<number | undefined> {
  const pace = paceOf(route, settings.plan);
  if (pace === undefined) return given ?? clock.now();
  let moment = given;
  while (moment === undefined || clock.now() - moment > momentAgeMsMax) {
    const now = clock.now();
    const account = accountNameOf(route);
    const request = { account, ...pace, count: 1, now, until: now + waitMsMax };
    [moment] = await withTimeLimit(ledger.reserve(request), reserveSecondsMax);
    if (moment === undefined) return undefined;
    await clock.sleep(Math.max(0, moment - clock.now()));
  }
  return moment;
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
  // While the account is held, one call is called up for the probe; the others stay where they are.
  const probeAt = probeOf(account, holds);
  let after: DuePlace | undefined;
  for (;;) {
    const now = clock.now();
    const from = Math.max(now, probeAt ?? 0);
    if (from > now + aheadMs) return;
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
    const calls = [...rows.values()].flatMap(({ call }) => call ?? []);
    const orders = await ordersFor(calls, deps);
    const decideAt = (call: Call, row: CallRow, at: number) =>
      decideWaiting(call, row, {
        plan,
        schedule,
        holds,
        orders,
        now: at,
        fraction: random.fraction,
      });
    const wanting: { call: Call; row: CallRow }[] = [];
    const writes: Unclaimed[] = [];
    for (const { id } of line) {
      const row = rows.get(id);
      if (row?.line !== account || row.call === null || row.dueAt === null) continue;
      const { call } = row;
      const decision = decideAt(call, row, from);
      if (decision.kind === "write") writes.push({ call, row, decision });
      else if (accountNameOf(decision.route) === account) wanting.push({ call, row });
      else {
        const reason = "route_changed";
        const moved = { kind: "write", state: "DEFERRED", reason, dueAt: now } as const;
        writes.push({ call, row, decision: moved });
      }
    }
    const asking = probeAt === undefined ? wanting : wanting.slice(0, 1);
    const count = asking.length;
    const slots =
      count === 0
        ? []
        : pace === undefined
          ? asking.map(() => from) // the plan has been changed: they go as they come
          : await ledger.reserve({
              account: slotsOf(account),
              ...pace,
              count,
              now: from,
              until: Math.max(from, slotsUntil(now, pace)),
            });
    let given = 0;
    for (const { call, row } of asking) {
      const slot = slots[given];
      if (slot === undefined) break;
      const decision = decideAt(call, row, slot);
      if (decision.kind === "dial") {
        given++;
        writes.push(atSlot(call, row, slot));
      } else writes.push({ call, row, decision });
    }
    await writeUnclaimed(writes, deps);
    const isProbed = probeAt !== undefined && given > 0;
    if (slots.length < count || isProbed) return;
  }
}
