import { type Pace } from "../telephony/rate.ts";
import { minuteMs } from "../lib/units.ts";
import type { ValueOf } from "../ports/document-kinds.ts";

/** Time in which measurements of an account lose half of their weight: short, because accounts become slow. */
const halfLifeMs = minuteMs;
/** Maximum time between two ticks whose completed calls count. After a longer time nobody has measured in between. */
const gapMsMax = 15_000;
/** Minimum time for which an account must have been seen before its speed counts as known. */
const seenMsMin = 30_000;
/** Share of a pace, less some calls, below which an account counts as slower than its pace. */
const paceShare = 0.93;
const paceCalls = 1.5;

/** The speed of an account, as the dispatcher's document has it. */
export type Speed = NonNullable<ValueOf<"dispatcher">["accounts"][string]["speed"]>;

/** The findings of a look at an account. */
interface Seen {
  /** Calls completed since the last look. */
  completed: number;
  /** Time of the look, in milliseconds since the epoch. */
  at: number;
  /** True if calls waited for this account since the last look: only then its speed shows. */
  isLimited: boolean;
}

/**
 * Returns an account's speed after a look. Time counts from a look that has seen a call completed, as an account that
 * has just begun has completed nothing yet.
 */
export function speedAfter(
  before: Speed | undefined,
  { completed, at, isLimited }: Seen,
): Speed | undefined {
  const { calls = 0, ms = 0, at: lookedAt = null } = before ?? {};
  if (!isLimited) return before && { ...before, at: null };
  const elapsedMs = lookedAt === null ? Infinity : at - lookedAt;
  if (elapsedMs > gapMsMax) return completed > 0 ? { calls, ms, at } : before;
  const kept = 0.5 ** (elapsedMs / halfLifeMs);
  return { calls: calls * kept + completed, ms: ms * kept + elapsedMs, at };
}

/** True if an account's speed was seen for long enough. */
export function isSpeedKnown(speed: Pick<Speed, "ms"> | undefined): boolean {
  return speed !== undefined && speed.ms >= seenMsMin;
}

/**
 * Returns the measured pace of an account, if it is slower than the plan's pace or the plan has none; undefined if
 * the account keeps its pace, or too little was measured.
 */
export function toSeenPace(
  { calls, ms }: Pick<Speed, "calls" | "ms">,
  pace: Pace | undefined,
): Pace | undefined {
  if (!isSpeedKnown({ ms }) || calls === 0) return undefined;
  const seen = { intervalUs: Math.ceil((ms * 1000) / calls), burst: 1 };
  const promised = (ms * 1000) / (pace?.intervalUs ?? 0);
  return calls < promised * paceShare - paceCalls ? seen : undefined;
}
