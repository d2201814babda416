import type { CallState } from "../../../shared/calls/call-row.ts";
import type { CallLedger } from "../../../shared/ledger/call-ledger.ts";
import { describeDue } from "./due.ts";
import { describeEnding } from "./ending.ts";
import { describeListing } from "./listing.ts";
import { describeReading } from "./reading.ts";
import { describeWriting } from "./writing.ts";

/**
 * What every ledger does, whatever engine keeps it.
 *
 * @param create gives an empty ledger, whose clock stands at `suiteNow` and which keeps rows for three days and more
 * @param options.told the states of which `ended` tells
 * @param options.runs how many random sequences of writes are compared with those of the ledger in memory
 */
export function describeCallLedger(
  name: string,
  create: () => Promise<CallLedger>,
  { told, runs }: { told: readonly CallState[]; runs: number },
): void {
  describeWriting(name, create, { runs });
  describeReading(name, create);
  describeDue(name, create);
  describeListing(name, create);
  describeEnding(name, create, told);
}
