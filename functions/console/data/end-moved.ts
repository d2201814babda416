import type { Why } from "#shared/answers/answers.ts";

/** The facts of one reading on which an end depends. */
export type EndRead = Pick<Why, "at" | "calls" | "expected_end_at" | "end_waits_for">;

/** The cause of a moved end. */
export interface Moved {
  /** The end that was expected before, and when. */
  before: string;
  toldAt: string;
  isEarlier: boolean;
  /** A wait of the last call that is longer or shorter than before; undefined: other calls came or went. */
  cause: { reason: string; name: string; seconds: number } | undefined;
}

/** Minimum change of an end that is reported: ten minutes, or a tenth of the time that is left. */
const movedMsMin = 10 * 60_000;

/** Checks whether an end has moved since an earlier reading, and why. Undefined: it has not, or is not known. */
export function findMoved(before: EndRead, now: EndRead): Moved | undefined {
  if (before.expected_end_at === null || now.expected_end_at === null) return undefined;
  const movedMs = Date.parse(now.expected_end_at) - Date.parse(before.expected_end_at);
  const leftMs = Date.parse(before.expected_end_at) - Date.parse(now.at);
  if (Math.abs(movedMs) < Math.max(movedMsMin, leftMs / 10)) return undefined;
  const seconds = new Map<string, { reason: string; name: string; seconds: number }>();
  const add = (waits: EndRead["end_waits_for"], sign: number) => {
    for (const { reason, name, seconds: own } of waits) {
      const key = `${reason} ${name}`;
      const known = seconds.get(key)?.seconds ?? 0;
      seconds.set(key, { reason, name, seconds: known + sign * own });
    }
  };
  add(now.end_waits_for, 1);
  add(before.end_waits_for, -1);
  // Waits of both readings shrink as time passes: only those that go with the end explain it.
  const [largest] = [...seconds.values()]
    .filter((one) => Math.sign(one.seconds) === Math.sign(movedMs))
    .toSorted((one, other) => Math.abs(other.seconds) - Math.abs(one.seconds));
  const isEnough = largest !== undefined && Math.abs(largest.seconds) * 1000 > movedMsMin / 2;
  return {
    before: before.expected_end_at,
    toldAt: before.at,
    isEarlier: movedMs < 0,
    cause: isEnough ? largest : undefined,
  };
}
