import type { CallRow } from "#shared/calls/call-row.ts";
import { hasEnded } from "#shared/calls/ended.ts";
import { findCallBacks } from "#shared/dial-plan/dial-plan.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import { hourMs } from "#shared/lib/units.ts";
import * as z from "#shared/lib/zod.ts";
import { ProviderUnreachableError, type ReadResult } from "#shared/providers/provider.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { optOut } from "./opt-out.ts";
import { type OpenRow, openRowOf, writeResults } from "./write-results.ts";

/** Time limit of one record, for a sweep's polls and for a callback. */
const recordSecondsMax = 15;
const hintSecondsMax = 3;
/** Age of a record up to which a callback does not have it read again, as some calls cause several callbacks at once. */
const freshMs = 10_000;

/**
 * Polls for the result of one placed call, whatever its due time, unless its end is known or its record was read some
 * seconds ago.
 *
 * @throws if the provider or the ledger could not be reached
 */
export async function pollNow(
  row: CallRow,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "journal" | "rowsPerSecond" | "wakeDispatcher">,
): Promise<void> {
  const [open] = openRowOf(row);
  // A call without a provider's id, such as one that an operator has marked placed, has no record to read.
  if (open?.providerCallId == null) return;
  const { readResult, recordsOptOuts } = deps.settings.providerOf(open.route);
  const age = deps.clock.now() - (row.result?.readAt ?? -Infinity);
  const mayOptOut = recordsOptOuts === true && !row.optedOut;
  const mayWish = row.callBack === undefined && readsWishes(row, deps);
  const isReadAgain = (mayOptOut || mayWish) && age < readAgainMsMax;
  if (hasEnded(row.result) ? !isReadAgain : age < freshMs) return;
  // A provider without records is not polled.
  if (readResult !== undefined) {
    await pollOne(open, { endsOnly: false, secondsMax: hintSecondsMax }, deps);
  }
}

/** True if the callee of a call may wish to be called back, or is told that nobody will. */
function readsWishes(
  { agentId }: Pick<CallRow, "agentId">,
  { settings }: Pick<DialerDeps, "settings">,
): boolean {
  return findCallBacks(agentId, settings.plan) !== undefined;
}

/**
 * Time after a call's end in which a callback causes one more reading of its record, if the record may report an
 * opt-out or a wish to be called back.
 */
const readAgainMsMax = hourMs;

/**
 * Polls for the result of one call, and writes it.
 *
 * @returns the number of requests that it took
 * @throws ProviderUnreachableError if the provider did not answer
 */
export async function pollOne(
  row: OpenRow,
  { endsOnly, secondsMax = recordSecondsMax }: { endsOnly: boolean; secondsMax?: number },
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "journal" | "rowsPerSecond" | "wakeDispatcher">,
): Promise<number> {
  const provider = deps.settings.providerOf(row.route);
  const { id, attempt, providerCallId } = row;
  const mayWish = readsWishes(row, deps) || provider.recordsOptOuts === true;
  const askedAt = deps.clock.now();
  const asking =
    providerCallId === null
      ? undefined
      : provider.readResult?.({ id, attempt, providerCallId, mayWish }, row.route);
  const result = asking && (await readAnswer(withTimeLimit(asking, secondsMax), id, deps));
  const current = result?.optedOut === true ? await listCallee(row, deps) : row;
  const found = current && { row: current, ...foundIn(result) };
  if (found && (!endsOnly || hasEnded(found.result))) await writeResults([found], askedAt, deps);
  return result?.analysis?.requests ?? 1;
}

/** Puts the callee onto the do-not-call list, and returns the row as it is then; undefined if others have changed it. */
async function listCallee(
  row: OpenRow,
  deps: RowDeps & Pick<DialerDeps, "journal">,
): Promise<OpenRow | undefined> {
  if (!(await optOut(row, deps))) return undefined;
  return (await deps.ledger.read([row.id])).rows.flatMap(openRowOf)[0];
}

/** Divides a record into its result and what is not stored of it. */
function foundIn(read: ReadResult | undefined) {
  if (read?.analysis === undefined) return { result: read };
  const { analysis, ...result } = read;
  return { result, analysis };
}

/** @throws ProviderUnreachableError if the provider did not answer. A record that cannot be read counts as none. */
async function readAnswer<Answer>(
  asking: Promise<Answer>,
  callId: string,
  { log }: Pick<DialerDeps, "log">,
): Promise<Answer | undefined> {
  try {
    return await asking;
  } catch (error) {
    const isUnreadable = error instanceof z.ZodError || error instanceof SyntaxError;
    if (!isUnreadable) throw new ProviderUnreachableError(error);
    log("warning", "result.unreadable", { call_id: callId, error: errorForLog(error) });
    return undefined;
  }
}
