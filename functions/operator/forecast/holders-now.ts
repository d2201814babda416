import type { ResolvedAccount } from "../../../shared/dial-plan/route-table.ts";
import { countedIn } from "../../../shared/policy/day-counts.ts";
import { byTime } from "../../../shared/rules/gates.ts";
import { findVerdict } from "../../../shared/rules/rule.ts";
import { findStillReason } from "../../../shared/policy/dispatcher.ts";
import { createResolver } from "../../../shared/rules/resolved-call.ts";
import { createHolders } from "./holders.ts";
import type { WaitingCall } from "./read-backlogs.ts";
import type { PlanWithSchedule } from "./queued.ts";
import type { ControlsRead } from "./read-controls.ts";
import { liveCallsIn } from "../../../shared/rules/live-calls.ts";

/** The holder of a waiting call now. */
export interface HeldBy {
  /** As in a row, without what follows its colon. */
  reason: string;
  /** Name of the pause, breaker, rule of the plan, account or check. Empty: there is none. */
  name: string;
  /** True if it is known of this very call; false where it is that of the nearest call whose row was read. */
  isExact: boolean;
}

/** Reasons of accounts that only mean that calls wait for their turn. */
export const turnReasons: ReadonlySet<string> = new Set(["turn", "pace", "in_flight", "slow"]);

/** Returns a function that tells what holds each of the calls that were read. */
export function createHoldersNow(
  read: ControlsRead,
  { table, schedule, now, isOther }: PlanWithSchedule & { now: number; isOther: boolean },
): (waiting: WaitingCall) => HeldBy {
  const { documents } = read;
  const holderOf = createHolders(documents, now);
  const resolver = createResolver(table, () => undefined);
  const accounts = new Map<string, HeldBy>();
  const accountHolder = (account: ResolvedAccount): HeldBy => {
    const known = accounts.get(account.name) ?? findAccountHolder(account, { read, now });
    accounts.set(account.name, known);
    return known;
  };
  return (waiting) => {
    const { call, dueAt, reason, hasNumber } = waiting;
    if (isOther) return { reason: "other_hash_key", name: "", isExact: true };
    const resolved = resolver.resolve(call, undefined);
    const { of, target } = resolved;
    if (target === undefined) return { reason: "route_gone", name: of.agentId, isExact: true };
    const holder = holderOf(of, target);
    if (holder !== undefined) return { reason: holder.reason, name: holder.name, isExact: true };
    const closed = findVerdict(byTime, resolved, { at: now, schedule });
    if (closed?.kind === "later") return { ...divided(closed.reason), isExact: hasNumber };
    if (dueAt > now) return { ...divided(reason), isExact: hasNumber };
    return accountHolder(target.account);
  };
}

/** Returns what holds the due calls of an account that nothing else holds. */
function findAccountHolder(
  { name: account, liveCalls = Infinity, callsPerDay = Infinity }: ResolvedAccount,
  { read: { documents, seenPaces }, now }: { read: ControlsRead; now: number },
): HeldBy {
  const held = (reason: string): HeldBy => ({ reason, name: account, isExact: true });
  if (callsPerDay < Infinity && countedIn(documents, { account }, now) >= callsPerDay) {
    return held("calls_per_day");
  }
  const isFull =
    liveCalls < Infinity &&
    liveCallsIn(documents, { account, limit: liveCalls, now }).length >= liveCalls;
  if (isFull) return held("live_calls");
  if (seenPaces.has(account)) return held("slow");
  const why = findStillReason(account, documents);
  return held(why !== null && turnReasons.has(why) ? why : "turn");
}

/** Divides a row's reason into its name and what follows the colon. */
function divided(reason: string): { reason: string; name: string } {
  const at = reason.indexOf(":");
  if (at === -1) return { reason, name: "" };
  return { reason: reason.slice(0, at), name: reason.slice(at + 1) };
}
