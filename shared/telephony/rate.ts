/** Rate limit of an account: `burst` requests at once, and then one every `intervalUs` microseconds. */
export interface Pace {
  intervalUs: number;
  burst: number;
}

/** @param callsPerSecond may be a fraction; the interval is rounded up, so that the rate is never exceeded */
export function paceOf(callsPerSecond: number, burst: number): Pace {
  return { intervalUs: Math.ceil(1_000_000 / callsPerSecond), burst };
}

/**
 * The generic cell rate algorithm (ITU-T I.371). An account's whole past is one number, the theoretical
 * arrival time of its next request in microseconds. Returns how many of `count` permits fit into the window,
 * the time from which they count, and the next arrival time. Microseconds keep the arithmetic exact in whole
 * numbers.
 *
 * @param window no permit before `notBefore` and none after `notAfter`, in milliseconds since the epoch
 */
export function grantPermits(
  arrivalUs: number | undefined,
  { intervalUs, burst }: Pace,
  count: number,
  { notBefore, notAfter }: { notBefore: number; notAfter: number },
): { granted: number; baseUs: number; arrivalUs: number } {
  const baseUs = Math.max(arrivalUs ?? 0, notBefore * 1000);
  const room = notAfter * 1000 + (burst - 1) * intervalUs - baseUs;
  const granted = room < 0 ? 0 : Math.min(count, Math.floor(room / intervalUs) + 1);
  return { granted, baseUs, arrivalUs: baseUs + granted * intervalUs };
}

/** Returns the times of granted permits, in milliseconds since the epoch, earliest first, none before `notBefore`. */
export function permitTimesOf(
  baseUs: number,
  granted: number,
  pace: Pace,
  notBefore: number,
): number[] {
  return Array.from({ length: granted }, (_, index) => momentOf(baseUs, index, pace, notBefore));
}

/** Returns the time of the granted permit at `index`, see `permitTimesOf`. */
export function momentOf(
  baseUs: number,
  index: number,
  { intervalUs, burst }: Pace,
  notBefore: number,
): number {
  const conforming = baseUs + (index - burst + 1) * intervalUs;
  return Math.max(notBefore, Math.ceil(conforming / 1000));
}
