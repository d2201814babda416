import type { DialerMemory } from "./context.ts";

/** Minimum lead of a permit until ten round trips are known, and the maximum lead. */
const firstLeadMs = 300;
export const leadMsMax = 2_000;
const roundTripsKnown = 10;
const roundTripsKept = 50;

/** Records a round trip to the ledger: permits are requested that much ahead. */
export function noteRoundTrip(
  { roundTripsMs }: Pick<DialerMemory, "roundTripsMs">,
  ms: number,
): void {
  roundTripsMs.push(ms);
  if (roundTripsMs.length > roundTripsKept) roundTripsMs.shift();
}

/** The 95th percentile of the latest round trips in milliseconds, 0 if none is known. */
export function knownRoundTripMs({ roundTripsMs }: DialerMemory): number {
  const sorted = roundTripsMs.toSorted((a, b) => a - b);
  return Math.min(leadMsMax, sorted[Math.floor(sorted.length * 0.95)] ?? 0);
}

/** Lead of a permit in milliseconds: a round trip, and at least 300 ms until ten round trips are known. */
export function leadMs(memory: DialerMemory): number {
  const known = knownRoundTripMs(memory);
  return memory.roundTripsMs.length < roundTripsKnown ? Math.max(firstLeadMs, known) : known;
}
