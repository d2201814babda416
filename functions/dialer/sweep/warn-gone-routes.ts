import { findAgentRoute } from "#shared/dial-plan/dial-plan.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { DialerDeps } from "../runtime/context.ts";

/** Backlogs without a route that an alarm has named. */
export type KnownGone = Pick<ValueOf<"sweep">, "routesGone">;

/** Backlogs that one sweep looks at, and that it remembers. The hourly visit of all backlogs finds others. */
const backlogsMax = 500;

/**
 * Raises one alarm for each backlog with waiting calls whose agent is no longer in the plan: within a minute of the
 * deployment, or of the first call. The hourly visit of all backlogs repeats it.
 *
 * @returns the backlogs that the next sweep is to know
 * @throws if the ledger or the documents cannot be read
 */
export async function warnGoneRoutes(
  { routesGone: known = [] }: KnownGone,
  {
    documents,
    ledger,
    settings,
    log,
  }: Pick<DialerDeps, "documents" | "ledger" | "settings" | "log">,
): Promise<KnownGone> {
  const listed = await documents.list("backlog", { limit: backlogsMax });
  const gone = listed
    .filter(isReadable)
    .filter(({ value }) => value.mode === "live")
    .filter(({ value }) => findAgentRoute(value.agentId, settings.plan) === undefined);
  const old = gone.filter(({ key }) => known.includes(key)).map(({ key }) => key);
  const fresh = gone.filter(({ key }) => !known.includes(key));
  const backlogs = fresh.map(({ key }) => ({ key }));
  const rows =
    fresh.length === 0
      ? []
      : await ledger.due({ lanes: backlogs, until: Number.MAX_SAFE_INTEGER, each: 1 });
  const waiting = fresh.filter((_, index) => rows[index]?.length === 1);
  reportGone(waiting, { settings, log });
  const routesGone = [...old, ...waiting.map(({ key }) => key)];
  return routesGone.length === 0 && known.length === 0 ? {} : { routesGone };
}

/** Raises an alarm for each backlog whose agent the plan has lost. */
export function reportGone(
  backlogs: readonly { value: Pick<ValueOf<"backlog">, "agentId" | "client" | "mode"> }[],
  { settings, log }: Pick<DialerDeps, "settings" | "log">,
): void {
  for (const { value } of backlogs) {
    const { agentId, client, mode } = value;
    if (findAgentRoute(agentId, settings.plan) !== undefined) continue;
    // The log has only the plan's agents. The view of backlogs names this one.
    log(mode === "test" ? "info" : "alarm", "route.gone", { client });
  }
}
