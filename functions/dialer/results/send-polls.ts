import { resultsBacklogOf } from "../../../shared/calls/call-row.ts";
import type { DialerDeps } from "../runtime/context.ts";

/**
 * Sends a message for each account with placed calls whose results are due. Accounts that are no longer in the plan
 * are not polled, as their secrets may be gone.
 */
export async function sendPolls(deps: DialerDeps): Promise<void> {
  const { ledger, eventsQueue, clock, settings } = deps;
  const { results, agents, providers } = settings.plan;
  if (results === undefined) return;
  const routed = Object.values(agents).map(({ provider }) => provider);
  const accounts = [...new Set([...Object.keys(providers), ...routed])];
  const sentAt = clock.now();
  const backlogs = accounts.map((provider) => ({ key: resultsBacklogOf({ provider }) }));
  const due = await ledger.due({ backlogs, until: sentAt, each: 1 });
  const polls = accounts.flatMap((account, index) =>
    due[index]?.length === 1 ? [{ message: { kind: "poll", account, sentAt } as const }] : [],
  );
  if (polls.length > 0) await eventsQueue.sendMany(polls);
}
