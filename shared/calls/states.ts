import type { LaneKind } from "./lane.ts";
import type { LogLevel } from "../lib/log.ts";
import type { CallEventType } from "./call-event.ts";
import { hourMs } from "../lib/units.ts";

/** States of a call, in display order. */
export const callStates = [
  "WAITING",
  "DIALING",
  "UNKNOWN",
  "NEEDS_REVIEW",
  "PLACED",
  "REJECTED",
  "EXPIRED",
  "CANCELLED",
  "REDIALED",
] as const;
export type CallState = (typeof callStates)[number];

/** An operator's action on a call. `resolve`: the operator says whether the call was placed. */
export type CallAction = "cancel" | "resolve" | "redial";

/** Everything that depends on a call's state, except the transitions. */
export interface StateFacts {
  /** Kind of lane in which rows of the state stand first, while they have a due time. Null: they have none. */
  lane: LaneKind | null;
  /** True if the service itself continues with the call. A call that is left to a person is not open. */
  open: boolean;
  /** States whether a provider has accepted the call. `now`: the request may be in progress. */
  placed: "no" | "now" | "perhaps" | "yes";
  /**
   * True if operators look after calls in the state. Ledgers index these rows, and list those of other states by
   * time.
   */
  attention: boolean;
  /** Actions that an operator may take. */
  actions: readonly CallAction[];
  /**
   * States to which the last claim may settle the row. In addition, every claim may settle it PLACED from every
   * state.
   */
  settlesTo: readonly CallState[];
  /** Event of a call's entering the state. */
  event: CallEventType | null;
  /** Level of the log line of a call's entering the state. */
  logLevel: LogLevel;
  /** True if the hourly counts include calls that entered the state. */
  counted: boolean;
  /** True if the number and the context are erased in the state. */
  erasesPayload: boolean;
  /** Purge of a row after the retention. `alarm`: with an alarm, as nobody has resolved the call. */
  purge: "never" | "quietly" | "alarm";
}

export const states: Readonly<Record<CallState, StateFacts>> = {
  /** Waits for its due time: calling hours, a pause, a pace, or a retry of a call that certainly did not ring. */
  WAITING: {
    lane: "waiting",
    open: true,
    placed: "no",
    attention: false,
    actions: ["cancel"],
    settlesTo: [],
    event: null,
    logLevel: "info",
    counted: true,
    erasesPayload: false,
    purge: "never",
  },
  /** Is claimed by one holder, who alone may dial. */
  DIALING: {
    lane: "dialing",
    open: true,
    placed: "now",
    attention: false,
    actions: [],
    settlesTo: ["WAITING", "UNKNOWN", "REJECTED", "CANCELLED", "EXPIRED", "NEEDS_REVIEW"],
    event: null,
    logLevel: "info",
    counted: false,
    erasesPayload: false,
    purge: "never",
  },
  /** May have been placed. It is looked up at the provider until it is found or must be reviewed. */
  UNKNOWN: {
    lane: "watch",
    open: true,
    placed: "perhaps",
    attention: true,
    actions: [],
    settlesTo: ["WAITING", "REJECTED"],
    event: null,
    logLevel: "warning",
    counted: true,
    erasesPayload: false,
    purge: "alarm",
  },
  /** Waits for a person's decision. */
  NEEDS_REVIEW: {
    lane: null,
    open: false,
    placed: "perhaps",
    attention: true,
    actions: ["resolve", "redial"],
    settlesTo: [],
    event: "call.needs_review",
    logLevel: "alarm",
    counted: true,
    erasesPayload: false,
    purge: "alarm",
  },
  /** Was taken by the provider. It has a due time while its result is polled. */
  PLACED: {
    lane: "results",
    open: false,
    placed: "yes",
    attention: false,
    actions: [],
    settlesTo: [],
    event: "call.placed",
    logLevel: "info",
    counted: true,
    erasesPayload: true,
    purge: "quietly",
  },
  /** Was refused for good, by the provider or the dial plan. */
  REJECTED: {
    lane: null,
    open: false,
    placed: "no",
    attention: true,
    actions: ["redial"],
    settlesTo: [],
    event: "call.rejected",
    logLevel: "info",
    counted: true,
    erasesPayload: false,
    purge: "quietly",
  },
  /** Was not dialed in time. */
  EXPIRED: {
    lane: null,
    open: false,
    placed: "no",
    attention: true,
    actions: ["redial"],
    settlesTo: [],
    event: "call.expired",
    logLevel: "warning",
    counted: true,
    erasesPayload: false,
    purge: "quietly",
  },
  /** Was ended by an operator or its client. `perhaps`: an operator who resolves a call may err. */
  CANCELLED: {
    lane: null,
    open: false,
    placed: "perhaps",
    attention: false,
    actions: [],
    settlesTo: [],
    event: "call.cancelled",
    logLevel: "info",
    counted: true,
    erasesPayload: false,
    purge: "quietly",
  },
  /** Was replaced by another call, by an operator. `perhaps`: as for CANCELLED. */
  REDIALED: {
    lane: null,
    open: false,
    placed: "perhaps",
    attention: false,
    actions: [],
    settlesTo: [],
    event: null,
    logLevel: "info",
    counted: true,
    erasesPayload: false,
    purge: "quietly",
  },
};

/** Returns the states whose facts fulfil a condition, in display order. */
export function statesWhere(holds: (facts: StateFacts) => boolean): CallState[] {
  return callStates.filter((state) => holds(states[state]));
}

/** States that operators look after. Adapters index them. */
export const attentionStates: readonly CallState[] = statesWhere(({ attention }) => attention);

/** Time after which a due result that was never polled is no longer awaited. */
const resultLateMs = hourMs;

/**
 * True if nothing more will happen to a call. A result that is long overdue is no longer polled, because its account
 * is gone. A call that may be tried again is awaited until the end of its tries, because its polls may only be late.
 */
export function isFinished(
  {
    state,
    dueAt,
    request,
    tries,
  }: {
    state: CallState;
    dueAt: number | null;
    request: object | null;
    tries?: { until: number; callBacks?: { until: number } | undefined } | undefined;
  },
  now: number,
): boolean {
  const { open, lane } = states[state];
  if (open) return false;
  if (lane !== "results" || dueAt === null) return true;
  const { until = 0, callBacks } = (request === null ? undefined : tries) ?? {};
  return Math.max(dueAt + resultLateMs, until, callBacks?.until ?? 0) < now;
}
