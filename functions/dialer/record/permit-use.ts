import { fastIntervalUsMax, latePermitMsMax, permitAgeMsMax } from "#shared/lib/timing.ts";
import type { Pace, TakenPermits } from "#shared/telephony/rate.ts";
import type { DialerMemory, PermitUse } from "../runtime/memory.ts";

const secondMs = 1_000;
/** Time for which a permit may be used in the same second as one of now. */
const usedMs = secondMs + latePermitMsMax;

export function permitUseOf(
  account: string,
  { permits }: Pick<DialerMemory, "permits">,
): PermitUse {
  const known = permits.get(account) ?? { leftAt: [], takes: [] };
  permits.set(account, known);
  return known;
}

/** Takes permits, and records what the answer says. */
export async function recordTake(
  use: PermitUse,
  { take, now }: { take: () => Promise<TakenPermits>; now(): number },
): Promise<readonly number[]> {
  const { times, total } = await take();
  const [firstAt] = times;
  if (total === undefined || firstAt === undefined) return times;
  // The count has begun anew: what others took before is not in it.
  if (use.takes.some((one) => one.firstAt < firstAt && one.total >= total)) {
    use.takes = [{ firstAt, count: 0, total }];
    return times;
  }
  // Takes before the last one that is old enough are not needed.
  const base = use.takes.findLastIndex((one) => one.firstAt <= now() - usedMs);
  use.takes = [...use.takes.slice(Math.max(0, base)), { firstAt, count: times.length, total }];
  return times;
}

/**
 * Returns how many permits of other processes may be used in this second: those taken in the time for which permits count, by
 * this process's own takes, and as many more for the time since the last of them. Infinite: it is not known, or too old.
 */
function othersIn({ takes }: PermitUse, now: number): number {
  // All permits that were taken before a take are earlier than its own.
  const firstEver = takes.find(({ count, total }) => count === total);
  const base = takes.findLast(({ firstAt }) => firstAt <= now - usedMs) ?? firstEver;
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
  return Math.min(mostIn(0.9, pace), mostIn(1.1, pace) - othersIn(use, now));
}

/**
 * True if so many more requests may leave late: their permits can be taken for now, and used once the answer has come. Where a
 * machine does less than the pace, waiting for a permit's time would hold up other calls.
 */
export function mayLeaveLate(
  use: PermitUse,
  pace: Pace,
  { now, count }: { now: number; count: number },
): boolean {
  const sent = use.leftAt.filter((at) => at > now - secondMs).length;
  return isFast(pace) && mostBesideOthers(use, pace, now) >= sent + count;
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
    if (late <= permitAt + latePermitMsMax) leaveAt = late;
  }
  if (leaveAt !== undefined) leftAt.push(leaveAt);
  return leaveAt;
}

function isFast({ intervalUs }: Pace): boolean {
  return intervalUs <= fastIntervalUsMax;
}
