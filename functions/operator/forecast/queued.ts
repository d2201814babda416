import type { ResolvedCall, ResolvedRoute } from "#shared/rules/resolved-call.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { RouteTable } from "#shared/dial-plan/route-table.ts";
import type { Schedule } from "#shared/dial-plan/schedule.ts";

/** A plan with its routes and its schedule. */
export interface PlanWithSchedule {
  plan: DialPlan;
  table: RouteTable;
  schedule: Schedule;
}

/** A call in a forecast's queue, which updates the call as simulated time passes. */
export interface Queued {
  id: string;
  resolved: ResolvedCall;
  /** Index of the call among all calls of the forecast. */
  index: number;
  target: ResolvedRoute;
  account: string;
  backlog: string;
  /** The earliest time at which the call itself may go, in milliseconds since the epoch. */
  dueAt: number;
  /** Reason of the wait, like that of a row. */
  reason: string | undefined;
  /** Time as of which the call was already decided to go. */
  decidedAt: number | undefined;
  /** True if the call is posted now and goes at once, before all others. */
  isAtOnce: boolean;
  /** False if the row's request was not read. Then `request` is a neighbour's, without a known number. */
  hasNumber: boolean;
  /** True if documents of the call's number or agent were not read. */
  isUnread: boolean;
  delays: readonly Delay[];
  end: End | undefined;
}

/** The time by which a rule has delayed a call. */
export interface Delay {
  /** Reason that a row would have meanwhile. */
  reason: string;
  /** Path of the rule in the plan; for a limit of an account, the account; for a pause, its name. */
  rule: string;
  ms: number;
}

/** The end of a queued call. */
export type End =
  | { kind: "dialed"; at: number }
  | { kind: "rejected" | "expire" | "blocked"; reason: string };

/** A queued call that has its end. */
export type Ended = Queued & { end: End };
