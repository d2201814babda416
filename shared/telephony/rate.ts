/** Rate limit of an account: `burst` requests at once, and then one every `intervalUs` microseconds. */
export interface Pace {
  intervalUs: number;
  burst: number;
}

/** @param callsPerSecond may be a fraction; the interval is rounded up, so that the rate is never exceeded */
export function toPace(callsPerSecond: number, burst: number): Pace {
  return { intervalUs: Math.ceil(1_000_000 / callsPerSecond), burst };
}

/** A request for at most `count` permits within a window. Times are milliseconds since the epoch. */
export interface PermitRequest {
  count: number;
  notBefore: number;
  notAfter: number;
}

/** Permits that were taken. */
export interface TakenPermits {
  /** Their times in milliseconds since the epoch, earliest first. Empty: there were none. */
  times: number[];
  /**
   * Number of permits that all processes have taken of the pace so far, these included. It may begin anew after a day
   * without any. After permits that nobody counted, as 0.2.0 takes them, it begins anew at the time in microseconds: so far
   * above any count before that others seem to have taken more than leaves room. Undefined: none was taken now.
   */
  total?: number;
}

/**
 * The generic cell rate algorithm (ITU-T I.371). An account's whole past is one number, the theoretical
 * arrival time of its next request in microseconds. Returns how many permits are granted, the time
 * from which they count, and the next arrival time. Microseconds keep the arithmetic exact in whole numbers.
 */
export function grantPermits(
  arrivalUs: number | undefined,
  { intervalUs, burst }: Pace,
  { count, notBefore, notAfter }: PermitRequest,
): { granted: number; baseUs: number; arrivalUs: number } {
  const baseUs = Math.max(arrivalUs ?? 0, notBefore * 1000);
  const room = notAfter * 1000 + (burst - 1) * intervalUs - baseUs;
  const granted = room < 0 ? 0 : Math.min(count, Math.floor(room / intervalUs) + 1);
  return { granted, baseUs, arrivalUs: baseUs + granted * intervalUs };
}

/** Returns the times of granted permits, in milliseconds since the epoch, earliest first, none before `notBefore`. */
export function listPermitTimes(
  baseUs: number,
  pace: Pace,
  { granted, notBefore }: { granted: number; notBefore: number },
): number[] {
  return Array.from({ length: granted }, (_, index) =>
    toPermitTime(baseUs, pace, { index, notBefore }),
  );
}

/** Returns the time of the granted permit at `index`, see `listPermitTimes`. */
export function toPermitTime(
  baseUs: number,
  { intervalUs, burst }: Pace,
  { index, notBefore }: { index: number; notBefore: number },
): number {
  const conforming = baseUs + (index - burst + 1) * intervalUs;
  return Math.max(notBefore, Math.ceil(conforming / 1000));
}
