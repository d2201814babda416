import { getOrMake } from "#shared/lib/get-or-make.ts";
import {
  fastIntervalUsMax,
  latePermitMsMax,
  lonePermitMsMax,
  permitAgeMsMax,
  permitWaitMsMax,
} from "#shared/lib/timing.ts";
import type { Pace, PermitRequest, TakenPermits } from "#shared/telephony/rate.ts";
import type { DialerMemory, PermitUse } from "../runtime/memory.ts";

const secondMs = 1_000;
/** Time for which permits are taken ahead, and after which they are no longer handed out. */
const aheadMs = 200;

export function permitUseOf(
  account: string,
  { permits }: Pick<DialerMemory, "permits">,
): PermitUse {
  return getOrMake(permits, account, () => ({
    leftAt: [],
    takes: [],
    spare: [],
    aheadAt: -Infinity,
  }));
}

/** Calls that need permits of an account's pace, and how permits are taken. */
interface PermitCalls {
  pace: Pace;
  count: number;
  /** Time after which a permit is taken that is to be used at its time, in milliseconds. */
  leadMs: number;
  take(window: PermitRequest): Promise<TakenPermits>;
  now(): number;
}

/**
 * Hands out permits to calls, in their order; fewer if the account has no more in time. Where they may be used late, they are
 * for now, and those that were taken ahead go first.
 */
export async function handOutPermits(
  use: PermitUse,
  { pace, count, leadMs, take, now: readClock }: PermitCalls,
): Promise<readonly number[]> {
  const now = readClock();
  const spent = spend(use, count, now);
  const missing = count - spent.length;
  if (missing === 0) return spent;
  const isLate = mayLeaveLate(use, pace, { now, count: missing });
  const ahead = isLate ? countAhead(use, pace, { now, count: missing }) : 0;
  const taken = await take({
    notBefore: isLate ? now : now + leadMs,
    notAfter: now + permitWaitMsMax,
    count: missing + ahead,
  });
  const times = recordTake(use, taken, readClock());
  use.spare.push(...times.slice(missing));
  return [...spent, ...times.slice(0, missing)];
}

/** Records what the answer to a taking says of this process and others. */
function recordTake(
  use: PermitUse,
  { times, total }: TakenPermits,
  now: number,
): readonly number[] {
  const [firstAt] = times;
  if (total === undefined || firstAt === undefined) return times;
  // The count has begun anew: what others took before is not in it.
  if (use.takes.some((one) => one.firstAt < firstAt && one.total >= total)) {
    use.takes = [{ firstAt, count: 0, total }];
    return times;
  }
  // Takes before the last one that is old enough are not needed.
  const base = use.takes.findLastIndex((one) => one.firstAt <= now - secondMs - lonePermitMsMax);
  use.takes = [...use.takes.slice(Math.max(0, base)), { firstAt, count: times.length, total }];
  return times;
}

/**
 * Returns how many permits of other processes may be used in this second, if each may be used `lateMs` after its time: by this
 * process's own takes, and as many more for the time since the last of them. Infinite: it is not known, or too old.
 */
function othersIn({ takes }: PermitUse, now: number, lateMs: number): number {
  // All permits that were taken before a take are earlier than its own.
  const firstEver = takes.find(({ count, total }) => count === total);
  const base = takes.findLast(({ firstAt }) => firstAt <= now - secondMs - lateMs) ?? firstEver;
  if (base === undefined) return Infinity;
  const since = takes.filter(({ total }) => total > base.total);
  const own = since.reduce((sum, { count }) => sum + count, 0);
  const total = Math.max(base.total, ...since.map((one) => one.total));
  const lastAt = Math.max(base.firstAt, ...since.map((one) => one.firstAt));
  if (lastAt < now - latePermitMsMax) return Infinity;
  const knownMs = Math.max(1, lastAt - base.firstAt);
  return Math.ceil((total - base.total - own) * Math.max(1, (now - base.firstAt) / knownMs));
}

/** Returns how many requests a multiple of a pace has in a second. */
function mostIn(times: number, { intervalUs, burst }: Pace): number {
  return Math.max(1, Math.floor((times * 1_000_000) / intervalUs)) + burst - 1;
}

/**
 * Returns how many requests this process may send in a second if some are late: as many as others leave of 1.1 times the rate,
 * and at most 0.9 times, as what waits in a busy process leaves together.
 */
function mostBesideOthers(use: PermitUse, pace: Pace, now: number): number {
  return Math.min(mostIn(0.9, pace), mostIn(1.1, pace) - othersIn(use, now, latePermitMsMax));
}

/**
 * True if so many more requests may leave late: their permits can be taken for now, and used once the answer has come. Where a
 * machine does less than the pace, waiting for a permit's time would hold up other calls.
 */
function mayLeaveLate(
  use: PermitUse,
  pace: Pace,
  { now, count }: { now: number; count: number },
): boolean {
  const sent = use.leftAt.filter((at) => at > now - secondMs).length;
  return isFast(pace) && mostBesideOthers(use, pace, now) >= sent + count;
}

/**
 * Returns how many permits to take beside the `count` that are needed now: with these as many as this process has used in the
 * last `aheadMs`, once in that time. They must all be free to leave late. Where a machine does less than the pace, a statement
 * for a few calls each would take as much of it as their claims.
 */
function countAhead(
  use: PermitUse,
  pace: Pace,
  { now, count }: { now: number; count: number },
): number {
  if (now < use.aheadAt + aheadMs) return 0;
  const used = use.leftAt.filter((at) => at > now - aheadMs).length;
  const ahead = Math.max(0, used - count);
  if (ahead === 0 || !mayLeaveLate(use, pace, { now, count: used })) return 0;
  use.aheadAt = now;
  return ahead;
}

/** Hands out permits that were taken ahead, at most so many. Those whose request would have too little time left are void. */
function spend(use: PermitUse, count: number, now: number): number[] {
  use.spare = use.spare.filter((permitAt) => permitAt >= now - aheadMs);
  return use.spare.splice(0, count);
}

/**
 * Returns the time at which a request may leave under its permit, and records it; undefined if the permit is void.
 *
 * A late request leaves with those of later permits. Within `permitAgeMsMax` these are so few that any second has at most
 * 1.1 times the rate, plus the burst, whichever processes send them. A request may be later if that is so for what this
 * process sends and for the permits that others are known to take: the pace is more than the machines do.
 */
export function takeLeave(
  use: PermitUse,
  permitAt: number,
  { pace, now }: { pace: Pace; now: number },
): number | undefined {
  use.leftAt = use.leftAt.filter((at) => at > now - secondMs);
  const { leftAt } = use;
  /** The earliest time at which no second has more requests of this process. */
  const earliest = (most: number) =>
    Math.max(now, permitAt, (leftAt[leftAt.length - most] ?? -Infinity) + secondMs);
  const { fast, slow } = permitAgeMsMax;
  const onTime = earliest(mostIn(1.1, pace));
  let leaveAt: number | undefined;
  if (onTime <= permitAt + (isFast(pace) ? fast : slow)) leaveAt = onTime;
  else if (isFast(pace)) {
    const most = mostBesideOthers(use, pace, now);
    const late = most < 1 ? Infinity : earliest(most);
    const isAlone = othersIn(use, now, lonePermitMsMax) === 0;
    if (late <= permitAt + (isAlone ? lonePermitMsMax : latePermitMsMax)) leaveAt = late;
  }
  if (leaveAt !== undefined) leftAt.push(leaveAt);
  return leaveAt;
}

function isFast({ intervalUs }: Pace): boolean {
  return intervalUs <= fastIntervalUsMax;
}
