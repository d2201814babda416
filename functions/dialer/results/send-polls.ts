import { analysesLane, resultsLane, testAccounts } from "#shared/calls/lane.ts";
import type { DialPlan } from "#shared/dial-plan/plan-schema.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { dayMs } from "#shared/lib/units.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Time for which a lost account of the plan is remembered: its calls have a result, and no number, within hours. */
const knownMs = 2 * dayMs;

/** Accounts of the plan whose calls await their results. */
type KnownAccounts = Pick<ValueOf<"sweep">, "accounts">;

/**
 * Sends a message for each account with placed calls whose results or analyses are due, and one for all accounts of test
 * calls. Accounts get messages for two days after the plan has lost them, as clients await the ends of their calls.
 *
 * @returns the accounts that the next sweep is to know
 */
export async function sendPolls(
  { accounts: former = {} }: KnownAccounts,
  {
    ledger,
    eventsQueue,
    clock,
    settings,
  }: Pick<DialerDeps, "ledger" | "eventsQueue" | "clock" | "settings">,
): Promise<KnownAccounts> {
  const { plan } = settings;
  const planned = findPlannedAccounts(plan);
  const mayFollow = Object.keys({ ...plan.retries, ...plan.callBacks }).length > 0;
  const recording = new Set(
    Object.values(plan.agents).flatMap((route): string[] =>
      settings.providerOf(route).recordsOptOuts === true ? [route.account] : [],
    ),
  );
  const sentAt = clock.now();
  const seen = planned.map((account) => [account, sentAt] as const);
  const all = Object.entries({ ...former, ...Object.fromEntries(seen) });
  const plannedAt = Object.fromEntries(all.filter(([, at]) => at > sentAt - knownMs));
  const known = Object.keys(plannedAt);
  const accounts = [...new Set([...planned, testAccounts, ...known])];
  // Its agents may have had `retry` or `callBacks`.
  const isLost = (account: string) => !planned.includes(account);
  const analyzed = known.filter(
    (account) => mayFollow || recording.has(account) || isLost(account),
  );
  const keys = [
    ...accounts.map((account) => resultsLane({ account })),
    ...analyzed.map((account) => analysesLane({ account })),
  ];
  const heads = await ledger.due({ lanes: keys.map((key) => ({ key })), until: sentAt, each: 1 });
  const due = new Set(keys.filter((_, index) => heads[index]?.length === 1));
  const polls = accounts.flatMap((account) => {
    const analyses = due.has(analysesLane({ account })) || undefined;
    if (!due.has(resultsLane({ account })) && analyses === undefined) return [];
    return [{ message: { kind: "poll", account, sentAt, analyses } as const }];
  });
  if (polls.length > 0) await eventsQueue.sendMany(polls);
  return { accounts: plannedAt };
}

/** Returns the accounts of a plan that asks for results, whose calls' records are read. */
export function findPlannedAccounts({ results, agents, providers }: DialPlan): string[] {
  const routed = Object.values(agents).map(({ account }) => account);
  return results === undefined ? [] : [...new Set([...Object.keys(providers), ...routed])];
}
