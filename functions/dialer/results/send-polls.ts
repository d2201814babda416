import { analysesLane, resultsLane, testAccounts } from "#shared/calls/lane.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Accounts whose calls may keep their numbers after they were placed. */
type KnownAccounts = Pick<ValueOf<"sweep">, "accounts">;

/**
 * Sends a message for each account with placed calls whose results or analyses are due, and one for all accounts of test
 * calls. Accounts that had agents with `retry` or `callBacks` get messages even if the plan has lost them.
 *
 * @returns the accounts that the next sweep is to know
 */
export async function sendPolls(
  { accounts: former = [] }: KnownAccounts,
  {
    ledger,
    eventsQueue,
    clock,
    settings,
  }: Pick<DialerDeps, "ledger" | "eventsQueue" | "clock" | "settings">,
): Promise<KnownAccounts> {
  const { plan } = settings;
  const planned = findPlannedAccounts(plan);
  const mayFollow = [plan.retries, plan.callBacks].some((rules) => Object.keys(rules).length > 0);
  const known = [...new Set([...former, ...(mayFollow ? planned : [])])];
  const accounts = [...new Set([...planned, testAccounts, ...known])];
  const keys = [
    ...accounts.map((account) => resultsLane({ account })),
    ...known.map((account) => analysesLane({ account })),
  ];
  const sentAt = clock.now();
  const backlogs = keys.map((key) => ({ key }));
  const heads = await ledger.due({ lanes: backlogs, until: sentAt, each: 1 });
  const due = new Set(keys.filter((_, index) => heads[index]?.length === 1));
  const polls = accounts.flatMap((account) => {
    const analyses = due.has(analysesLane({ account })) ? { analyses: true as const } : {};
    if (!due.has(resultsLane({ account })) && analyses.analyses !== true) return [];
    return [{ message: { kind: "poll", account, sentAt, ...analyses } as const }];
  });
  if (polls.length > 0) await eventsQueue.sendMany(polls);
  return known.length === 0 ? {} : { accounts: known };
}

/** Returns the accounts of a plan that asks for results, whose calls' records are read. */
export function findPlannedAccounts({ results, agents, providers }: DialPlan): string[] {
  const routed = Object.values(agents).map(({ account }) => account);
  return results === undefined ? [] : [...new Set([...Object.keys(providers), ...routed])];
}
