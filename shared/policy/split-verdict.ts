/** Chains of an arm by how they ended. */
export interface ArmResults {
  /** Chains that ended with a known result: the whole of both shares. */
  ended: number;
  /** Chains whose last call a person or a machine answered. */
  answered: number;
  completed: number;
}

/**
 * Quantiles of the standard normal distribution at 1 − 0.05 / (2 m), for m comparisons from 1 to 9: a split of ten arms
 * compares nine with its first. Each comparison has its part of the five percent (Bonferroni).
 */
const quantiles = [
  1.959964, 2.241403, 2.39398, 2.497705, 2.575829, 2.638257, 2.69011, 2.734369, 2.772921,
];
/** The quantile at 0.8: a difference of the named size is found in four of five splits. */
const powerQuantile = 0.841621;

/** Returns the quantile for a split of so many arms. */
export function quantileFor(arms: number): number {
  return quantiles[Math.max(0, arms - 2)] ?? Infinity;
}

/**
 * Returns the chains that each arm needs before a split is judged, so that a difference of this many percentage points is found
 * whatever the shares are: two shares vary most at one half.
 */
export function sizeOf({ arms, points }: { arms: number; points: number }): number {
  const difference = points / 100;
  return Math.ceil(((quantileFor(arms) + powerQuantile) ** 2 * 0.5) / difference ** 2);
}

/** A share of chains. */
interface Share {
  count: number;
  of: number;
}

/** Returns Wilson's interval of a share. */
function wilson({ count, of }: Share, z: number): { low: number; high: number } {
  const middle = 2 * count + z * z;
  const spread = z * Math.sqrt(z * z + 4 * count * (1 - count / of));
  const whole = 2 * (of + z * z);
  return { low: (middle - spread) / whole, high: (middle + spread) / whole };
}

/** A difference of two shares, with the interval in which it lies. */
export interface Difference {
  difference: number;
  low: number;
  high: number;
}

/**
 * Returns Newcombe's interval of the difference of two shares: the hybrid score method without correction, number 10 in
 * Statistics in Medicine 17 (1998), 873–890.
 *
 * @param z quantile of the standard normal distribution
 */
export function differenceOf(one: Share, other: Share, z: number): Difference {
  const [p, q] = [one.count / one.of, other.count / other.of];
  const [ofOne, ofOther] = [wilson(one, z), wilson(other, z)];
  const difference = p - q;
  return {
    difference,
    low: difference - Math.hypot(p - ofOne.low, ofOther.high - q),
    high: difference + Math.hypot(ofOne.high - p, q - ofOther.low),
  };
}

/** Differences of an arm's results from those of the first one. */
export interface Comparison {
  arm: string;
  answered: Difference;
  completed: Difference;
  /** Sign of the difference of its completed chains; `not_shown`: the interval has both. */
  completes: "more" | "fewer" | "not_shown";
}

/** Compares each arm with the first one. Every arm must have a chain that ended. */
export function compareArms(results: readonly (ArmResults & { arm: string })[]): Comparison[] {
  const [first, ...others] = results;
  if (first === undefined) return [];
  const z = quantileFor(results.length);
  return others.map((one) => {
    const differ = (count: "answered" | "completed") =>
      differenceOf(
        { count: one[count], of: one.ended },
        { count: first[count], of: first.ended },
        z,
      );
    const completed = differ("completed");
    const completes = completed.low > 0 ? "more" : completed.high < 0 ? "fewer" : "not_shown";
    return { arm: one.arm, answered: differ("answered"), completed, completes };
  });
}
