import { fastIntervalUsMax, latePermitMsMax, permitAgeMsMax } from "#shared/lib/timing.ts";
import type { Pace, TakenPermits } from "#shared/telephony/rate.ts";
import type { DialerMemory, PermitUse } from "../runtime/memory.ts";

const secondMs = 1_000;
/** Time without a permit of another process after which a process counts as the only one that uses the pace. */
const aloneMs = 5_000;

export function permitUseOf(
  account: string,
  { permits }: Pick<DialerMemory, "permits">,
): PermitUse {
  const known = permits.get(account) ?? { leftAt: [], takes: [], asked: 0 };
  permits.set(account, known);
  return known;
}

/** Takes permits, and records what the answer says. */
export async function recordTake(
  use: PermitUse,
  count: number,
  { take, now }: { take: () => Promise<TakenPermits>; now(): number },
): Promise<readonly number[]> {
  use.asked += count;
  const { times, total } = await take().finally(() => (use.asked -= count));
  if (total === undefined) return times;
  const at = now();
  const base = use.takes.findLastIndex((one) => one.at <= at - aloneMs);
  // Those before the last one that is old enough are not needed; none is if the count has begun anew.
  const needed = total < (use.takes[base]?.total ?? 0) ? [] : use.takes.slice(Math.max(0, base));
  use.takes = [...needed, { at, count: times.length, total }];
  return times;
}

/** True if no other process is known to have taken permits of the pace: this one has taken all, or has asked for them. */
function isAlone({ takes, asked }: PermitUse, now: number): boolean {
  const [base] = takes;
  if (base === undefined) return false;
  const isFirstEver = base.total === base.count;
  if (base.at > now - aloneMs && !isFirstEver) return false;
  const since = takes.filter(({ total }) => total > base.total);
  const own = since.reduce((sum, { count }) => sum + count, 0);
  const total = Math.max(base.total, ...since.map((one) => one.total));
  return total - base.total - own <= asked;
}

/**
 * True if requests may leave late: permits can be taken for now, and used once their answer has come. Where a machine does
 * less than the pace, waiting for a permit's time would hold up other calls.
 */
export function mayLeaveLate(use: PermitUse, pace: Pace, now: number): boolean {
  return isFast(pace) && isAlone(use, now);
}

/**
 * Returns the time at which a request may leave under its permit, and records it; undefined if the permit is void.
 *
 * A late request leaves with those of later permits. Within `permitAgeMsMax` these are so few that any second has at most
 * 1.1 times the rate, plus the burst, whichever processes send them. A process that is alone with the pace may be later, as
 * it sends no more than the rate in any second.
 */
export function takeLeave(
  use: PermitUse,
  permitAt: number,
  { pace, now }: { pace: Pace; now: number },
): number | undefined {
  use.leftAt = use.leftAt.filter((at) => at > now - secondMs);
  const { leftAt } = use;
  const most = Math.max(1, Math.floor(1_000_000 / pace.intervalUs)) + pace.burst - 1;
  const oldest = leftAt[leftAt.length - most] ?? -Infinity;
  const leaveAt = Math.max(now, permitAt, oldest + secondMs);
  const ageMax = isFast(pace) ? permitAgeMsMax.fast : permitAgeMsMax.slow;
  const ageMsMax = mayLeaveLate(use, pace, now) ? latePermitMsMax : ageMax;
  if (leaveAt > permitAt + ageMsMax) return undefined;
  leftAt.push(leaveAt);
  return leaveAt;
}

function isFast({ intervalUs }: Pace): boolean {
  return intervalUs <= fastIntervalUsMax;
}
