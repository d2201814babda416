import type { CallRow } from "#shared/calls/call-row.ts";
import type { Settlement } from "#shared/calls/transitions.ts";
import type { Change } from "#shared/ports/ledger.ts";
import type { Bench } from "./dialer-calls.ts";

/** True if some of these changes claim a call. */
export const claims = (changes: readonly Change[]) =>
  changes.some(({ next }) => next.state === "DIALING");

/** Has something happen after each write that claims a call, before the dialer learns that it succeeded. */
export function afterClaims(bench: Bench, happen: (claim: CallRow) => unknown): void {
  bench.breakLedger({
    async write(changes) {
      const written = await bench.rows.write(changes);
      const claim = changes.find(({ next }) => next.state === "DIALING");
      if (claim !== undefined) await happen(claim.next);
      return written;
    },
  });
}

/** Composes the message by which the holder of a claim reports that the call was placed, or that it has another state. */
export const outcomeOf = (
  { id }: { id: string },
  claim: string | undefined,
  more: Partial<Settlement> = {},
) =>
  ({
    kind: "outcome",
    settlement: { id, claim: claim ?? "", state: "PLACED", reason: "placed", at: 1, ...more },
  }) as const;
