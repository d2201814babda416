/** How fast an account takes calls: `burst` at once, and from then on one each `intervalUs` microseconds. */
export interface Pace {
  intervalUs: number;
  burst: number;
}

/** @param callsPerSecond may be a fraction; the interval is rounded up, so that the rate is never exceeded */
export function paceOf(callsPerSecond: number, burst: number): Pace {
  return { intervalUs: Math.ceil(1_000_000 / callsPerSecond), burst };
}

/** A wish for slots of an account, in milliseconds since the epoch. */
export interface SlotRequest extends Pace {
  account: string;
  /** At most so many. */
  count: number;
  now: number;
  /** None later than this. */
  until: number;
}

/**
 * The generic cell rate algorithm (ITU-T I.371): all an account's past is one number, the theoretical arrival
 * time of its next call in microseconds. How many slots a request is given, the time they begin to count from,
 * and that number thereafter. Microseconds, so that all is exact in whole numbers.
 */
export function grantSlots(
  arrivalUs: number | undefined,
  { intervalUs, burst, count, now, until }: SlotRequest,
): { granted: number; baseUs: number; arrivalUs: number } {
  const baseUs = Math.max(arrivalUs ?? 0, now * 1000);
  const room = until * 1000 + (burst - 1) * intervalUs - baseUs;
  const granted = room < 0 ? 0 : Math.min(count, Math.floor(room / intervalUs) + 1);
  return { granted, baseUs, arrivalUs: baseUs + granted * intervalUs };
}

/** The moments of granted slots, in milliseconds since the epoch, earliest first. */
export function slotsFrom(
  baseUs: number,
  granted: number,
  { intervalUs, burst, now }: SlotRequest,
): number[] {
  return Array.from({ length: granted }, (_, index) => {
    const conforming = baseUs + (index - burst + 1) * intervalUs;
    return Math.max(now, Math.ceil(conforming / 1000));
  });
}
