import type { CallState } from "../../../shared/calls/states.ts";
import type { CallLedger } from "../../../shared/ports/ledger.ts";
import { describeDialing } from "./dialing.ts";
import { describeDue } from "./due.ts";
import { describeEnding } from "./ending.ts";
import { describeListing } from "./listing.ts";
import { describeReading } from "./reading.ts";
import { describeWriting } from "./writing.ts";

/**
 * Describes the behaviour of every ledger, on any engine.
 *
 * @param create creates an empty ledger, whose clock stands at `suiteNow` and which keeps rows for at least
 * three days
 * @param options.told states that `ended` reports
 * @param options.runs number of random sequences of writes that are compared with the memory ledger
 */
export function describeCallLedger(
  name: string,
  create: () => Promise<CallLedger>,
  { told, runs }: { told: readonly CallState[]; runs: number },
): void {
  describeWriting(name, create, { runs });
  describeReading(name, create);
  describeDue(name, create);
  describeDialing(name, create);
  describeListing(name, create);
  describeEnding(name, create, told);
}
