import { analysesLane, resultsLane, testAccounts } from "#shared/calls/lane.ts";
import { isTestClient, toAccountName } from "#shared/calls/ids.ts";
import { accountNameOf, type Route, sandboxType } from "#shared/calls/call-request.ts";
import { awaitsAnalysis } from "#shared/calls/chain.ts";
import { hasEnded } from "#shared/calls/ended.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { DuePosition } from "#shared/ports/ledger.ts";
import { lateUntil } from "./call-backs.ts";
import { continueChains } from "./next-tries.ts";
import { findPlannedAccounts } from "./send-polls.ts";
import { isSpent, pollEach, pollLists, type Polling } from "./poll-rows.ts";
import { createOwnFailures } from "./own-failures.ts";
import { type OpenRow, openRowOf, postpone, writeResults } from "./write-results.ts";
import { leaveOver, oldEntries } from "../record/live-calls.ts";
import { hourMs } from "#shared/lib/units.ts";
import { liveCallsIn, liveKeysOf } from "#shared/rules/live-calls.ts";

/** Maximum calls of an account that are polled at once. */
const callsMax = 500;
/** Maximum pages of calls per message. */
const pagesMax = 20;
/** Maximum part of the interval between sweeps for which an account is polled. The next sweep has it polled again. */
const partOfSweep = 0.8;
/**
 * Time for which one delivery polls an account, if no list is slow. Then the poll goes behind the queue's other messages:
 * with many accounts to poll, their deliveries would otherwise delay events.
 */
const deliveryMsMax = 10_000;
/** Time reserved for the last write and the acknowledgement of the message. */
const afterPollsMs = 30_000;
/** Age of a call from which its result is `unknown` if the plan has lost its account. */
const goneMs = 4 * hourMs;

/**
 * Polls an account for the due results of its placed calls, at most `pollsPerSecond`: by lists if many are due and
 * the provider has a list, and call by call for the rest, with analyses of ended calls by turns. Calls not polled before the
 * next sweep stay due. If the plan has lost the account, or asks for no results, no record is read, as secrets may be gone:
 * analyses are not waited for, and results become `unknown`, but only hours later, as the plan may be one before a deployment.
 *
 * @param poll.account name of the account in the dial plan
 * @param poll.sentAt time of the sweep, in milliseconds since the epoch
 * @param deadline end of the invocation, in milliseconds since the epoch
 * @returns false if another delivery is to continue, as this one's time or statements are used up
 * @throws ProviderUnreachableError if the account does not answer. It is polled again after the next sweep
 * @throws if the ledger cannot be read or written. The message is then retried
 */
export async function pollAccount(
  { account, sentAt, analyses }: { account: string; sentAt: number; analyses?: true | undefined },
  deps: DialerDeps,
  deadline: number,
): Promise<boolean> {
  const { clock, sweepSeconds, settings } = deps;
  const isPolled = [...findPlannedAccounts(settings.plan), testAccounts].includes(account);
  const begunAt = clock.now();
  const sweepMs = sweepSeconds * 1000 * partOfSweep;
  const lastAt = deadline - afterPollsMs;
  const endAt = Math.min(lastAt, begunAt + Math.min(deliveryMsMax, sweepMs));
  let lanes: readonly Lane[] = [{ key: resultsLane({ account }) }];
  const own = createOwnFailures(true, deps);
  const polling = { endAt, lastAt, endsOnly: false, own };
  if (analyses === true) {
    const lane = { key: analysesLane({ account }) };
    await leaveOutLate({ account, lane }, polling, deps);
    lanes = [...lanes, lane];
  }
  for (let pages = 0; pages < pagesMax && clock.now() < endAt; pages++) {
    const {
      rows: placed,
      behind,
      isLast,
    } = await readDue(lanes, { account, until: begunAt }, deps);
    lanes = behind;
    const open: OpenRow[] = [];
    await own.apart(placed, async (some) => {
      open.push(...(await continueChains(some, deps)));
    });
    const isRead = ({ route }: OpenRow) =>
      isPolled && settings.providerOf(route).readResult !== undefined;
    // A provider without records reports by signed callback, or has not reported in time.
    const isGivenUp = (row: OpenRow) =>
      isPolled || awaitsAnalysis(row) || begunAt >= row.claimedAt + goneMs;
    const unread = open.filter((row) => !isRead(row));
    await own.apart(unread.filter(isGivenUp), (some) => giveUp(some, begunAt, deps));
    // Otherwise the same calls would come first in each sweep, before older ones whose results stay unknown too.
    const held = unread.filter((row) => !isGivenUp(row));
    await postpone(held, { isKept: true }, deps);
    if (isSpent(deps)) return false;
    const left = await pollLists(open.filter(isRead), polling, deps);
    await pollEach(inTurns(left, deps), polling, deps);
    if (isSpent(deps)) return false;
    if (isLast) break;
  }
  return clock.now() < endAt || clock.now() >= sentAt + sweepMs;
}

/** A lane of due calls, and the position behind which it is read. */
interface Lane {
  key: string;
  after?: DuePosition | undefined;
}

/**
 * Reads a page of the calls that are due in lanes. The next page is read behind it: rows that only a later version can read
 * stay due, and must not hide the others.
 */
async function readDue(
  lanes: readonly Lane[],
  { account, until }: { account: string; until: number },
  { ledger, log }: Pick<DialerDeps, "ledger" | "log">,
): Promise<{ rows: OpenRow[]; behind: Lane[]; isLast: boolean }> {
  const pages = await ledger.due({ lanes, until, each: callsMax });
  const ids = pages.flat().map(({ id }) => id);
  const { rows, unreadable } = await ledger.read(ids);
  if (unreadable.size > 0) log("alarm", "row.unreadable", { account, count: unreadable.size });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return {
    rows: ids.flatMap((id) => openRowOf(byId.get(id))),
    behind: lanes.map(({ key, after }, index) => ({ key, after: pages[index]?.at(-1) ?? after })),
    isLast: pages.every(({ length }) => length < callsMax),
  };
}

/**
 * Leaves out the readings of ended calls' records that are too late, before any record is read: the provider may be
 * down or have too many to answer, and the calls' numbers must be erased.
 */
async function leaveOutLate(
  { account, lane }: { account: string; lane: Lane },
  { endAt, own }: Polling,
  deps: DialerDeps,
): Promise<void> {
  const { clock } = deps;
  const begunAt = clock.now();
  const until = lateUntil(begunAt);
  let lanes: readonly Lane[] = [lane];
  for (let pages = 0; pages < pagesMax && clock.now() < endAt && !isSpent(deps); pages++) {
    const { rows, behind, isLast } = await readDue(lanes, { account, until }, deps);
    lanes = behind;
    await own.apart(rows, (some) => giveUp(some, begunAt, deps));
    const { length: count } = rows;
    // Wishes in them are lost, which nothing else says.
    if (count > 0) deps.log("warning", "results.late", { account, count });
    if (isLast) return;
  }
}

/** Records that nothing more will become known about these calls. */
async function giveUp(rows: readonly OpenRow[], at: number, deps: DialerDeps): Promise<void> {
  await writeResults(
    rows.map((row) => ({ row, result: undefined })),
    at,
    deps,
  );
}

/**
 * Orders calls to be polled: in turns three that wait for their results, and one that waits for its analysis. Chance says
 * which of the four is first, as a delivery may have time for one only.
 */
function inTurns(rows: readonly OpenRow[], { random }: Pick<DialerDeps, "random">): OpenRow[] {
  let [results, analyses] = [0, (4 * random.fraction() - 1) / 3];
  const turns = rows.map((row) => ({
    row,
    turn: awaitsAnalysis(row) ? analyses++ : results++ / 3,
  }));
  return turns.toSorted((one, other) => one.turn - other.turn).map(({ row }) => row);
}

/**
 * Polls for the results of an account's live calls, as other calls wait for them to end. Writes only ends, and leaves
 * the calls' next polls unchanged. Calls that are over by their rows or their age count no longer: no sweep knows the
 * accounts of test calls. Calls not polled in this delivery are left to the dispatcher's next message.
 *
 * @param account the account's name (`accountNameOf`)
 * @throws as pollAccount does
 */
export async function pollLive(account: string, deps: DialerDeps, deadline: number): Promise<void> {
  const { documents, ledger, clock, random, settings } = deps;
  const { plan, table } = settings;
  const route: Route | undefined = isTestClient(account)
    ? { provider: sandboxType, account: toAccountName(account) }
    : Object.values(plan.agents).find((one) => accountNameOf(one) === account);
  const limit = route && table.account(route).liveCalls;
  if (route === undefined || limit === undefined) return;
  const lastAt = deadline - afterPollsMs;
  const endAt = Math.min(lastAt, clock.now() + deliveryMsMax);
  const read = await documents.read(liveKeysOf(account, limit));
  const live = liveCallsIn(read, { account, limit });
  const known = await ledger.read(live.map(({ call }) => call));
  await leaveOver({ route, calls: oldEntries(live, clock.now()) }, known, deps);
  const open = known.rows
    .flatMap(openRowOf)
    .filter(
      (row) => !hasEnded(row.result) && settings.providerOf(row.route).readResult !== undefined,
    );
  const polling = { endAt, lastAt, endsOnly: true, own: createOwnFailures(false, deps) };
  // A delivery may have no time for all calls. No row says which were polled, so that another one comes first each time.
  const first = Math.floor(random.fraction() * open.length);
  const turned = [...open.slice(first), ...open.slice(0, first)];
  const left = await pollLists(turned, polling, deps);
  await pollEach(left, polling, deps);
}
