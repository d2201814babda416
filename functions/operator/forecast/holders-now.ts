import { getOrMake } from "#shared/lib/get-or-make.ts";
import type { ResolvedAccount } from "#shared/dial-plan/route-table.ts";
import { divideReason } from "#shared/calls/reasons.ts";
import { byTime, inTurn, rooms } from "#shared/rules/gates.ts";
import { findVerdict, leastRoom } from "#shared/rules/rule.ts";
import { findText } from "#shared/rules/texts.ts";
import { findDispatched } from "#shared/policy/dispatcher.ts";
import { createResolver, type ResolvedCall } from "#shared/rules/resolved-call.ts";
import { createHolders } from "./holders.ts";
import type { WaitingCall } from "./read-backlogs.ts";
import type { PlanWithSchedule } from "./queued.ts";
import type { ControlsRead } from "./read-controls.ts";

/** The holder of a waiting call now. */
export interface HeldBy {
  /** As in a row, without what follows its colon. */
  reason: string;
  /** Name of the pause, breaker, rule of the plan, account or check. Empty: there is none. */
  name: string;
  /** True if it is known for this call; false if it is the holder of the nearest call whose row was read. */
  isExact: boolean;
}

/**
 * Returns what holds a waiting call now, when the call expires, and which account it uses; undefined: it has no
 * route.
 */
export type HolderNow = (waiting: WaitingCall) => {
  heldBy: HeldBy;
  account: ResolvedAccount | undefined;
  expiresAt: number;
};

/** Returns a function that finds what holds each of the calls that were read. */
export function createHoldersNow(
  read: ControlsRead,
  { table, schedule, now }: PlanWithSchedule & { now: number },
): HolderNow {
  const { documents, unread } = read;
  const holderOf = createHolders(documents, now);
  const resolver = createResolver(table, () => undefined);
  const accounts = new Map<string, HeldBy>();
  const accountHolder = (account: ResolvedAccount): HeldBy =>
    getOrMake(accounts, account.name, () => findAccountHolder(account, { read, now }));
  const holderOfCall = (waiting: WaitingCall, resolved: ResolvedCall): HeldBy => {
    const { dueAt, reason, hasNumber } = waiting;
    const { of: agentOf, target } = resolved;
    if (unread !== undefined) return { reason: unread, name: "", isExact: true };
    if (target === undefined) return { reason: "route_gone", name: agentOf.agentId, isExact: true };
    const holder = holderOf(agentOf, target);
    if (holder !== undefined) return { reason: holder.reason, name: holder.name, isExact: true };
    const closed = findVerdict(byTime, resolved, { at: now, schedule });
    if (closed?.kind === "later") return { ...divideReason(closed.reason), isExact: hasNumber };
    if (dueAt > now) {
      const { reason: name, name: of } = divideReason(reason);
      const isOfAccount = findText(name)?.isOfAccount === true;
      return {
        reason: name,
        name: isOfAccount ? target.account.name : of,
        isExact: hasNumber,
      };
    }
    return accountHolder(target.account);
  };
  return (waiting) => {
    const resolved = resolver.resolve(waiting.call, undefined);
    const { target, expiresAt } = resolved;
    return { heldBy: holderOfCall(waiting, resolved), account: target?.account, expiresAt };
  };
}

/** Returns what holds the due calls of an account that nothing else holds. */
function findAccountHolder(
  resolved: ResolvedAccount,
  { read: { documents, seenPaces }, now }: { read: ControlsRead; now: number },
): HeldBy {
  const { name: account } = resolved;
  const held = (reason: string): HeldBy => ({ reason, name: account, isExact: true });
  // Calls in flight that no document counts yet are not known here.
  const facts = { documents, now, inFlight: 0, sent: 0, countOthers: () => 0 };
  const room = leastRoom(rooms, resolved, facts);
  if (room.most !== undefined && room.why !== undefined) return held(room.why);
  if (seenPaces.has(account)) return held("slow");
  const why = findDispatched(account, documents)?.why ?? "";
  return held(findText(why)?.isTurn === true ? why : inTurn.reason);
}
