/**
 * Changes of a list of gates.ts that no call notices. One judge: it may be left out, or exchanged with either neighbour. Two:
 * they may be exchanged.
 */
export interface EqualGate {
  list: string;
  /** Judges by the names of their rules and questions. */
  judges: readonly [string] | readonly [string, string];
  because: string;
}

const fresh = "this judge answers for a fresh call alone, and a resend has a row";

/** The changes that are equal, each with the proof. A test makes all others, and each is noticed. */
export const equalGates: readonly EqualGate[] = [
  {
    list: "delivery",
    judges: ["context admit", "route admit"],
    because: "a context is judged along a route, so only one of the two can object",
  },
  {
    list: "delivery",
    judges: ["caller-ids admit", "breaker probeTime"],
    because:
      "the last judge never objects; it gives a time, and the one before it a number: both are applied in any order",
  },
  { list: "resend", judges: ["checks admit"], because: fresh },
  { list: "resend", judges: ["turn admit"], because: fresh },
  { list: "resend", judges: ["turn inDelivery"], because: fresh },
];
