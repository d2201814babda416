import type { CallState } from "#shared/calls/states.ts";
import type { CallLedger } from "#shared/ports/ledger.ts";
import { describeDialing } from "./dialing.ts";
import { describeDue } from "./due.ts";
import { describeEnding } from "./ending.ts";
import { describeListing } from "./listing.ts";
import { describeReading } from "./reading.ts";
import { describeWriting } from "./writing.ts";

/**
 * Describes the behaviour of every ledger, on any engine.
 *
 * @param create creates an empty ledger, whose clock stands at `suiteNow`. It need not keep rows for longer than `keptDays`, as
 * a list by time may read every hour of them
 * @param options.told states that `ended` reports
 * @param options.runs number of random sequences of writes that are compared with the memory ledger
 */
export function describeCallLedger(
  name: string,
  create: (keptDays: number) => Promise<CallLedger>,
  { told, runs }: { told: readonly CallState[]; runs: number },
): void {
  const createShort = () => create(1 / 24);
  describeWriting(name, createShort, { runs });
  describeReading(name, createShort);
  describeDue(name, createShort);
  describeDialing(name, createShort);
  describeListing(name, create);
  describeEnding(name, createShort, told);
}
