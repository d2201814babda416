/** A change of a list of gates.ts that no call notices: a judge left out, or exchanged with the one after it. */
export interface EqualGate {
  list: string;
  change: string;
  because: string;
}

const because = {
  fresh: "this judge answers for a fresh call alone, and a resend has a row",
  beside: "one of the two answers for a fresh call alone, and a resend has a row",
  target: "a context is judged along a route, so only one of the two can object",
  passage:
    "the last judge never objects; it gives a time, and the one before it a number: both are applied in any order",
};

/** The changes that are equal, each with the proof. A test makes all others, and each is noticed. */
export const equalGates: readonly EqualGate[] = [
  { list: "delivery", change: "swaps 5 and 6", because: because.target },
  { list: "delivery", change: "swaps 16 and 17", because: because.passage },
  { list: "resend", change: "without 2", because: because.fresh },
  { list: "resend", change: "without 4", because: because.fresh },
  { list: "resend", change: "without 6", because: because.fresh },
  { list: "resend", change: "swaps 1 and 2", because: because.beside },
  { list: "resend", change: "swaps 2 and 3", because: because.beside },
  { list: "resend", change: "swaps 3 and 4", because: because.beside },
  { list: "resend", change: "swaps 4 and 5", because: because.beside },
  { list: "resend", change: "swaps 5 and 6", because: because.beside },
  { list: "resend", change: "swaps 6 and 7", because: because.beside },
];
