import * as z from "zod";
import { type CallRow, resultsBacklogOf } from "../../../shared/calls/call-row.ts";
import { hasEnded } from "../../../shared/calls/resulted.ts";
import { accountOf } from "../../../shared/dial-plan/routes.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import { withTimeLimit } from "../../../shared/platform/time-limit.ts";
import type { DialerDeps } from "../context.ts";
import { type OpenRow, openRowOf, writeResults } from "./write-results.ts";

/** Maximum calls of an account that are asked about at once. */
const callsMax = 500;
/** Number of calls from which on a list is read first: it takes up to five requests. */
const listedMin = 5;
/** Maximum part of the time between sweeps for which an account is asked: the next sweep has it asked again. */
const partOfSweep = 0.8;
/** Time limits of one record, and of a list of five pages. */
const recordSecondsMax = 15;
const listSecondsMax = 20;
/** Time left for the last write and the acknowledgement of the message. */
const afterAsksMs = 30_000;
/** Tolerated difference between this clock and the provider's. */
const clockMarginMs = 60_000;

/** Age of a record up to which a callback does not have it read again: some calls bring several at once. */
const freshMs = 10_000;

/**
 * Asks an account what became of its placed calls that are due for it: by a list where many are due and the
 * provider has one, and call by call for the rest, at most `asksPerSecond`. What is not asked stays due. An
 * account that does not answer is left alone until the next sweep.
 *
 * @param account name of the account in the dial plan
 * @param deadline end of the invocation, in milliseconds since the epoch
 * @throws if the ledger cannot be read or written; the message is then retried
 */
export async function askAccount(
  account: string,
  deps: DialerDeps,
  deadline: number,
): Promise<void> {
  const { ledger, clock, sweepSeconds, settings, log } = deps;
  // A plan without results has no time for asking: each result would be `unknown` at once.
  if (settings.plan.results === undefined) return;
  const now = clock.now();
  const backlogs = [{ key: resultsBacklogOf({ provider: account }) }];
  const [places = []] = await ledger.due({ backlogs, until: now, each: callsMax });
  const { rows } = await ledger.read(places.map(({ id }) => id));
  const open = places.flatMap(({ id }) => openRowOf(rows.get(id)));
  const endAt = Math.min(deadline - afterAsksMs, now + sweepSeconds * 1000 * partOfSweep);
  const byRoute = Map.groupBy(open, ({ route }) => JSON.stringify(route));
  for (const own of byRoute.values()) {
    try {
      await askRoute(own, endAt, deps);
    } catch (error) {
      if (error instanceof UnansweredError) {
        log("warning", "results.unanswered", {
          provider: account,
          error: errorForLog(error.cause),
        });
        return;
      }
      throw error;
    }
  }
}

/**
 * Asks what became of one placed call, whatever the time of its next turn. Its end, once told, is not asked for
 * again, and neither is a record that was read some seconds ago.
 *
 * @throws if the provider or the ledger could not be asked
 */
export async function askNow(row: CallRow, deps: DialerDeps): Promise<void> {
  const [open] = openRowOf(row);
  const isFresh = deps.clock.now() - (row.result?.readAt ?? -Infinity) < freshMs;
  if (open === undefined || hasEnded(row.result) || isFresh) return;
  // A provider without records is not asked.
  if (deps.settings.providerOf(open.route).readResult !== undefined) await askOne(open, deps);
}

/** Returns a handler that says that a list could not be read. */
function notListed({ log }: Pick<DialerDeps, "log">): (error: unknown) => undefined {
  return (error) => {
    log("warning", "results.not_listed", {
      error: errorForLog(error instanceof UnansweredError ? error.cause : error),
    });
  };
}

/** The provider did not answer, or refused to. */
class UnansweredError extends Error {}

/** Asks for the results of calls along one route, and writes them. */
async function askRoute(rows: readonly OpenRow[], endAt: number, deps: DialerDeps): Promise<void> {
  const { clock, settings } = deps;
  const [first] = rows;
  if (first === undefined) return;
  const { route } = first;
  const provider = settings.providerOf(route);
  const { asksPerSecond } = accountOf(route, settings.plan);
  let left = rows;
  if (provider.listResults !== undefined && rows.length >= listedMin) {
    const askedAt = clock.now();
    const from = Math.min(...rows.map(({ claimedAt }) => claimedAt)) - clockMarginMs;
    const listing = provider.listResults(from, route);
    // Where a key may read calls and not the list, the calls are asked about one by one.
    const listed = await answerOf(listing, listSecondsMax, first.id, deps).catch(notListed(deps));
    const resultIn = ({ providerCallId }: OpenRow) => listed?.get(providerCallId ?? "");
    const known = rows.filter((row) => resultIn(row) !== undefined);
    await writeResults(
      known.map((row) => ({ row, result: resultIn(row) })),
      askedAt,
      deps,
    );
    left = rows.filter((row) => resultIn(row) === undefined);
  }
  for (const row of left) {
    await clock.sleep(1000 / asksPerSecond);
    if (clock.now() >= endAt) return;
    await askOne(row, deps);
  }
}

/**
 * Asks for the result of one call, and writes it.
 *
 * @throws UnansweredError if the provider did not answer
 */
async function askOne(row: OpenRow, deps: DialerDeps): Promise<void> {
  const provider = deps.settings.providerOf(row.route);
  const { id, attempt, providerCallId } = row;
  const askedAt = deps.clock.now();
  const asking =
    providerCallId === null
      ? undefined
      : provider.readResult?.({ id, attempt, providerCallId }, row.route);
  const result = asking && (await answerOf(asking, recordSecondsMax, id, deps));
  await writeResults([{ row, result }], askedAt, deps);
}

/** @throws UnansweredError if the provider did not answer. A record that cannot be read counts as none. */
async function answerOf<Answer>(
  asking: Promise<Answer>,
  secondsMax: number,
  callId: string,
  { log }: Pick<DialerDeps, "log">,
): Promise<Answer | undefined> {
  try {
    return await withTimeLimit(asking, secondsMax);
  } catch (error) {
    const isUnreadable = error instanceof z.ZodError || error instanceof SyntaxError;
    if (!isUnreadable) throw new UnansweredError("the provider did not answer", { cause: error });
    log("warning", "result.unreadable", { call_id: callId, error: errorForLog(error) });
    return undefined;
  }
}
