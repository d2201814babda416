import { type CallRow, resultsBacklogOf, testAccounts } from "#shared/calls/call-row.ts";
import type { CallResult } from "#shared/calls/call-result.ts";
import { isTestClient, toAccountName } from "#shared/calls/ids.ts";
import { accountNameOf, type Route, sandboxType } from "#shared/calls/call-request.ts";
import { awaitsAnalysis } from "#shared/calls/chain.ts";
import { pollLiveMs } from "../record/live-calls.ts";
import { hasEnded } from "#shared/calls/record-result.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { withTimeLimit } from "#shared/lib/retry.ts";
import * as z from "#shared/lib/zod.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { ProviderUnreachableError, type ReadResult } from "#shared/providers/provider.ts";
import { isAnalysisLate } from "./call-backs.ts";
import { optOut } from "./opt-out.ts";
import { continueChains } from "./next-tries.ts";
import { createOwnFailures, type OwnFailures } from "./own-failures.ts";
import { type OpenRow, openRowOf, postpone, writeResults } from "./write-results.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";
import { liveCallsIn, liveKeysOf } from "#shared/rules/live-calls.ts";

/** Maximum calls of an account that are polled at once. */
const callsMax = 500;
/** Maximum pages of calls per message. */
const pagesMax = 20;
/** From this number of calls on, a list is read first, which takes up to five requests. */
const listedMin = 5;
/** Maximum part of the interval between sweeps for which an account is polled. The next sweep has it polled again. */
const partOfSweep = 0.8;
/** Time limits of one record, and of a list of five pages. */
const recordSecondsMax = 15;
const listSecondsMax = 20;
/** Consecutive failed records after which an account is not polled until the next sweep. */
const failuresMax = 3;
/** Time reserved for the last write and the acknowledgement of the message. */
const afterPollsMs = 30_000;
/** Statements that are left when polling ends: each of a delivery's ten accounts writes a last result. */
const reservedStatements = 100;
/** Tolerated difference between this clock and the provider's. */
const clockMarginMs = minuteMs;

/**
 * Sends a message for each account with placed calls whose results are due, and one for all accounts of test calls. Accounts that are no longer in the plan
 * are not polled, as their secrets may be gone.
 */
export async function sendPolls(
  deps: Pick<DialerDeps, "ledger" | "eventsQueue" | "clock" | "settings">,
): Promise<void> {
  const { ledger, eventsQueue, clock, settings } = deps;
  const { results, agents, providers } = settings.plan;
  const routed = Object.values(agents).map(({ account }) => account);
  const planned = results === undefined ? [] : [...Object.keys(providers), ...routed];
  const accounts = [...new Set([...planned, testAccounts])];
  const sentAt = clock.now();
  const backlogs = accounts.map((account) => ({ key: resultsBacklogOf({ account }) }));
  const due = await ledger.due({ backlogs, until: sentAt, each: 1 });
  const polls = accounts.flatMap((account, index) =>
    due[index]?.length === 1 ? [{ message: { kind: "poll", account, sentAt } as const }] : [],
  );
  if (polls.length > 0) await eventsQueue.sendMany(polls);
}

/** Limits of one round of polls. */
interface Polling {
  endAt: number;
  /** True if only the results of calls that have ended are written. */
  endsOnly: boolean;
  own: OwnFailures;
}

/** Age of a record up to which a callback does not have it read again, as some calls cause several callbacks at once. */
const freshMs = 10_000;

/**
 * Polls an account for the due results of its placed calls, at most `pollsPerSecond`: by lists if many are due and
 * the provider has a list, and call by call for the rest. Calls not polled before the next sweep stay due.
 *
 * @param account name of the account in the dial plan
 * @param deadline end of the invocation, in milliseconds since the epoch
 * @returns false if the invocation has too few statements left to go on. Another one has them
 * @throws ProviderUnreachableError if the account does not answer. It is polled again after the next sweep
 * @throws if the ledger cannot be read or written. The message is then retried
 */
export async function pollAccount(
  account: string,
  deps: DialerDeps,
  deadline: number,
): Promise<boolean> {
  const { ledger, clock, sweepSeconds, settings } = deps;
  // A plan without results has no time for polling, and each result would be `unknown` at once.
  if (settings.plan.results === undefined && account !== testAccounts) return true;
  const begunAt = clock.now();
  const endAt = Math.min(deadline - afterPollsMs, begunAt + sweepSeconds * 1000 * partOfSweep);
  const backlogs = [{ key: resultsBacklogOf({ account }) }];
  const own = createOwnFailures(true, deps);
  const polling = { endAt, endsOnly: false, own };
  for (let pages = 0; pages < pagesMax && clock.now() < endAt; pages++) {
    const [slots = []] = await ledger.due({ backlogs, until: begunAt, each: callsMax });
    const { rows } = await ledger.read(slots.map(({ id }) => id));
    const byId = new Map(rows.map((row) => [row.id, row]));
    const placed = slots.flatMap(({ id }) => openRowOf(byId.get(id)));
    const open: OpenRow[] = [];
    await own.apart(placed, async (some) => {
      open.push(...(await continueChains(some, deps)));
    });
    const isRead = (row: OpenRow) =>
      settings.providerOf(row.route).readResult !== undefined && !isAnalysisLate(row, begunAt);
    // A provider without records reports by signed callback, or has not reported in time. A late analysis is given up without
    // a request, as its provider may be down or have too many to answer.
    const unread = open.filter((row) => !isRead(row));
    await own.apart(unread, async (some) => {
      const found = some.map((row) => ({ row, result: undefined }));
      await writeResults(found, begunAt, deps);
    });
    const left = await pollLists(open.filter(isRead), polling, deps);
    // Other calls wait for results, and nobody for an analysis.
    const isLast = (row: OpenRow) => Number(awaitsAnalysis(row));
    await pollEach(
      left.toSorted((one, other) => isLast(one) - isLast(other)),
      polling,
      deps,
    );
    if (isSpent(deps)) return false;
    if (slots.length < callsMax) break;
  }
  return true;
}

function isSpent({ statementsLeft }: Pick<DialerDeps, "statementsLeft">): boolean {
  return statementsLeft() <= reservedStatements;
}

/**
 * Polls for the results of an account's live calls, as other calls wait for them to end. Writes only ends, and leaves
 * the calls' next polls unchanged.
 *
 * @param account the account's name (`accountNameOf`)
 * @throws as pollAccount does
 */
export async function pollLive(account: string, deps: DialerDeps, deadline: number): Promise<void> {
  const { documents, ledger, clock, settings } = deps;
  const { plan, table } = settings;
  const route: Route | undefined = isTestClient(account)
    ? { provider: sandboxType, account: toAccountName(account) }
    : Object.values(plan.agents).find((one) => accountNameOf(one) === account);
  const limit = route && table.account(route).liveCalls;
  if (limit === undefined) return;
  const now = clock.now();
  const endAt = Math.min(deadline - afterPollsMs, now + pollLiveMs * partOfSweep);
  const read = await documents.read(liveKeysOf(account, limit));
  const live = liveCallsIn(read, { account, limit });
  const { rows } = await ledger.read(live.map(({ call }) => call));
  const open = rows
    .flatMap(openRowOf)
    .filter(
      (row) => !hasEnded(row.result) && settings.providerOf(row.route).readResult !== undefined,
    );
  const polling = { endAt, endsOnly: true, own: createOwnFailures(false, deps) };
  const left = await pollLists(open, polling, deps);
  await pollEach(left, polling, deps);
}

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
  const mayWish = row.tries?.callBacks !== undefined && row.callBack === undefined;
  const isReadAgain = (mayOptOut || mayWish) && age < analysisMsMax;
  if (hasEnded(row.result) ? !isReadAgain : age < freshMs) return;
  // A provider without records is not polled.
  if (readResult !== undefined) await pollOne(open, { endsOnly: false }, deps);
}

/**
 * Time after a call's end in which a callback has its record read once more, where it may report an opt-out or a wish to be
 * called back.
 */
const analysisMsMax = hourMs;

/**
 * Reads lists of an account's calls, and writes their results. One list usually has the calls of all routes. If not,
 * another is read.
 *
 * @returns the calls that no list has
 */
async function pollLists(
  rows: readonly OpenRow[],
  { endAt, endsOnly, own: failures }: Polling,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "journal" | "rowsPerSecond" | "wakeDispatcher">,
): Promise<readonly OpenRow[]> {
  const { clock, settings, log } = deps;
  let left = rows;
  const routes = new Map(rows.map(({ route }) => [JSON.stringify(route), route]));
  for (const [key, route] of routes) {
    const { listResults } = settings.providerOf(route);
    // No list has an analysis, and a call that ended long ago would have one begin early.
    const own = left.filter((row) => JSON.stringify(row.route) === key && !awaitsAnalysis(row));
    if (listResults === undefined || own.length < listedMin) continue;
    await clock.sleep(1000 / settings.table.account(route).pollsPerSecond);
    if (clock.now() >= endAt) break;
    const askedAt = clock.now();
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
    // Calls whose callee opted out are polled one by one: first their numbers are listed. So are ended calls whose analysis
    // may have a wish, which not every list has.
    const isListed = (row: OpenRow) => {
      const result = resultIn(row);
      if (result === undefined || result.optedOut === true) return false;
      return row.tries?.callBacks === undefined || result.status === "live";
    };
    await failures.apart(left.filter(isListed), async (some) => {
      const found = some.map((row) => ({ row, ...foundIn(resultIn(row)) }));
      await writeResults(endsOnly ? found.filter(isEnd) : found, askedAt, deps);
    });
    left = left.filter((row) => !isListed(row));
  }
  return left;
}

/**
 * Polls calls one by one. The next poll of a call whose record fails, or whose result cannot be handled, is postponed, so
 * that one which always fails does not block other calls.
 *
 * @throws ProviderUnreachableError if several records fail in a row
 */
async function pollEach(
  rows: readonly OpenRow[],
  { endAt, endsOnly, own }: Polling,
  deps: DialerDeps,
): Promise<void> {
  const { clock, settings } = deps;
  let failures = 0;
  for (const row of rows) {
    const { pollsPerSecond } = settings.table.account(row.route);
    const startAt = clock.now();
    if (startAt >= endAt || isSpent(deps)) return;
    try {
      await pollOne(row, { endsOnly }, deps);
      failures = 0;
    } catch (error) {
      if (error instanceof ProviderUnreachableError) {
        if (!endsOnly) await postpone(row, { isKept: false }, deps);
        failures += 1;
        if (failures === failuresMax) throw error;
      } else await own.putBack(row, error);
    }
    // The sandbox needs no rest, and one client's test calls must not keep another's waiting.
    const restMs = row.route.provider === sandboxType ? 0 : 1000 / pollsPerSecond;
    await clock.sleep(startAt + restMs - clock.now());
  }
}

/**
 * Polls for the result of one call, and writes it.
 *
 * @throws ProviderUnreachableError if the provider did not answer
 */
async function pollOne(
  row: OpenRow,
  { endsOnly }: Pick<Polling, "endsOnly">,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "journal" | "rowsPerSecond" | "wakeDispatcher">,
): Promise<void> {
  const provider = deps.settings.providerOf(row.route);
  const { id, attempt, providerCallId, tries } = row;
  const mayWish = tries?.callBacks === undefined ? {} : { mayWish: true };
  const askedAt = deps.clock.now();
  const asking =
    providerCallId === null
      ? undefined
      : provider.readResult?.({ id, attempt, providerCallId, ...mayWish }, row.route);
  const result = asking && (await readAnswer(asking, id, deps));
  const current = result?.optedOut === true ? await listCallee(row, deps) : row;
  if (current === undefined) return;
  const found = { row: current, ...foundIn(result) };
  if (!endsOnly || isEnd(found)) await writeResults([found], askedAt, deps);
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
  if (read?.told === undefined) return { result: read };
  const { told, ...result } = read;
  return { result, told };
}

function isEnd({ result }: { result: CallResult | undefined }): boolean {
  return hasEnded(result);
}

/** @throws ProviderUnreachableError if the provider did not answer. A record that cannot be read counts as none. */
async function readAnswer<Answer>(
  asking: Promise<Answer>,
  callId: string,
  { log }: Pick<DialerDeps, "log">,
): Promise<Answer | undefined> {
  try {
    return await withTimeLimit(asking, recordSecondsMax);
  } catch (error) {
    const isUnreadable = error instanceof z.ZodError || error instanceof SyntaxError;
    if (!isUnreadable) throw new ProviderUnreachableError(error);
    log("warning", "result.unreadable", { call_id: callId, error: errorForLog(error) });
    return undefined;
  }
}
