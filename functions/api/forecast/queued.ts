import type { Call, Route } from "../../../shared/calls/call-request.ts";
import type { Limit } from "./forecast-schema.ts";

/** A call in a virtual queue, which changes it as time goes on. */
export interface Queued extends Call {
  /** Place of the call among all calls of the forecast. */
  index: number;
  route: Route;
  account: string;
  backlog: string;
  /** The earliest time at which the call itself may go, in milliseconds since the epoch. */
  dueAt: number;
  /** Reason of the wait, like that of a row. */
  reason: string | undefined;
  /** Time for which it was decided already that the call may go. */
  decidedAt: number | undefined;
  /** True if it is posted now and goes at once, before all others. */
  isAtOnce: boolean;
  /** False for a row whose request was not read: it has that of a row near it, but not its number. */
  hasNumber: boolean;
  /** True if what bears on its number or agent was not read. */
  isUnread: boolean;
  delays: readonly Delay[];
  end: End | undefined;
}

/** The time by which a rule has delayed a call. */
export interface Delay {
  limit: Limit;
  /** Place of the rule in the plan; the account, if it is a pace. */
  rule: string;
  ms: number;
}

/** The end of a queued call. */
export type End =
  | { kind: "dialed"; at: number }
  | { kind: "rejected" | "expire" | "blocked"; reason: string };

/** A queued call that has its end. */
export type Ended = Queued & { end: End };
