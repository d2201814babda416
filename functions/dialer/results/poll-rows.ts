import { awaitsAnalysis } from "#shared/calls/chain.ts";
import { sandboxType } from "#shared/calls/call-request.ts";
import { hasEnded } from "#shared/calls/ended.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { ProviderUnreachableError } from "#shared/providers/provider.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import type { OwnFailures } from "./own-failures.ts";
import { pollOne } from "./poll-call.ts";
import { type OpenRow, postpone, writeResults } from "./write-results.ts";

/** From this number of calls on, a list is read first, which takes up to five requests. */
const listedMin = 5;
/** Time limit of a list of five pages. */
const listSecondsMax = 20;
/**
 * Least time for records once the lists are read. A slow list, or the rest after one at a slow pace, would otherwise use up
 * the time of each delivery, and what no list settles would never be polled.
 */
const recordsMsMin = 5_000;
/** Consecutive failed records after which an account is not polled until the next sweep. */
const failuresMax = 3;
/** Maximum rest after the end of the polls: that of one request at the slowest pace. */
const lastRestMs = 10_000;
/** Statements that are left when polling ends: each of a delivery's ten accounts writes a last result. */
const reservedStatements = 100;
/** Tolerated difference between this clock and the provider's. */
const clockMarginMs = minuteMs;

/** Limits of one round of polls. */
export interface Polling {
  /** Time from which no list is read, and no record but in the `recordsMsMin` behind the lists. */
  endAt: number;
  /** Time from which nothing is read, as the invocation ends soon. */
  lastAt: number;
  /** True if only the results of calls that have ended are written. */
  endsOnly: boolean;
  own: OwnFailures;
}

/** True if the invocation has too few statements left to continue polling. */
export function isSpent({ statementsLeft }: Pick<DialerDeps, "statementsLeft">): boolean {
  return statementsLeft() <= reservedStatements;
}

/** Names the list that has the calls of a route, whatever number of a pool they came from. */
function listOf({ route }: OpenRow): string {
  return JSON.stringify(Object.entries(route).filter(([name]) => name !== "from"));
}

/**
 * Reads lists of an account's calls, and writes their results. One list usually has the calls of all routes. If not,
 * another is read.
 *
 * @returns the calls that no list has
 */
export async function pollLists(
  rows: readonly OpenRow[],
  { endAt, endsOnly, own: failures }: Polling,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "journal" | "rowsPerSecond" | "wakeDispatcher">,
): Promise<readonly OpenRow[]> {
  const { clock, settings, log } = deps;
  let left = rows;
  const lists = new Map(rows.map((row) => [listOf(row), row.route]));
  for (const [list, route] of lists) {
    const { listResults } = settings.providerOf(route);
    // No list has an analysis, and for a call that ended long ago the wait for the analysis would begin early.
    const own = left.filter((row) => listOf(row) === list && !awaitsAnalysis(row));
    if (listResults === undefined || own.length < listedMin) continue;
    const askedAt = clock.now();
    if (askedAt >= endAt) break;
    const from = Math.min(...own.map(({ claimedAt }) => claimedAt)) - clockMarginMs;
    const listed = await withTimeLimit(listResults(from, route), listSecondsMax).catch(
      (error: unknown) => {
        // If a key may read calls but not the list, the calls are polled one by one.
        log("warning", "results.not_listed", {
          account: route.account,
          error: errorForLog(error),
        });
      },
    );
    const resultIn = ({ providerCallId }: OpenRow) => listed?.get(providerCallId ?? "");
    // Calls whose callee opted out are polled one by one: their numbers are listed first.
    const isListed = (row: OpenRow) => {
      const result = resultIn(row);
      if (result === undefined || result.optedOut === true || awaitsAnalysis(row)) return false;
      // A retry after a voicemail must not come before the time that its record may name.
      return row.tries?.callBacks === undefined || result.status !== "voicemail";
    };
    await failures.apart(left.filter(isListed), async (some) => {
      // Not every list has the analysis: it is read from the record, once others have their results.
      const analysis = { isAnalyzed: false };
      const found = some.map((row) => ({ row, result: resultIn(row), analysis }));
      const written = found.filter(({ result }) => !endsOnly || hasEnded(result));
      await writeResults(written, askedAt, deps);
    });
    left = left.filter((row) => !isListed(row));
    // The rest comes after the list: before it, a slow pace would leave no time to read one.
    await clock.sleep(askedAt + 1000 / settings.table.account(route).pollsPerSecond - clock.now());
  }
  return left;
}

/**
 * Polls calls one by one. The next poll of a call whose record fails, or whose result cannot be handled, is postponed, so
 * that one which always fails does not block other calls.
 *
 * @throws ProviderUnreachableError if several records fail in a row
 */
export async function pollEach(
  rows: readonly OpenRow[],
  { endAt, lastAt, endsOnly, own }: Polling,
  deps: DialerDeps,
): Promise<void> {
  const { clock, settings } = deps;
  const until = Math.max(endAt, Math.min(clock.now() + recordsMsMin, lastAt));
  let failures = 0;
  for (const row of rows) {
    const { pollsPerSecond } = settings.table.account(row.route);
    const startAt = clock.now();
    let requests = 1;
    if (startAt >= until || isSpent(deps)) return;
    try {
      requests = await pollOne(row, { endsOnly }, deps);
      failures = 0;
    } catch (error) {
      if (error instanceof ProviderUnreachableError) {
        if (!endsOnly) await postpone([row], { isKept: false }, deps);
        failures += 1;
        if (failures === failuresMax) throw error;
      } else await own.putBack(row, error);
    }
    // The sandbox needs no pause, and one client's test calls must not delay another's.
    const restMs = row.route.provider === sandboxType ? 0 : (requests * 1000) / pollsPerSecond;
    await clock.sleep(Math.min(startAt + restMs, until + lastRestMs) - clock.now());
  }
}
