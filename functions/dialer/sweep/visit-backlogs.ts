import { backlogOfKey, type LevelOf, waitingBacklogOf } from "#shared/calls/call-row.ts";
import { timeOfId } from "#shared/calls/ids.ts";
import { findAgentRoute, findRetry } from "#shared/dial-plan/dial-plan.ts";
import type { StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { writeOff } from "../dispatch/decide-rows.ts";
import type { SweepTime } from "./sweep-time.ts";
import { allBacklogs, type Step, takeStep, type Walk } from "./walk-backlogs.ts";
import { hourMs } from "#shared/lib/units.ts";

/** Interval of the visits of every backlog. */
const visitEveryMs = hourMs;
/** Time without use after which an empty backlog's document is removed. */
const unusedMs = 2 * hourMs;
const decidedAtOnce = 200;

type Backlog = StoredDocument<"backlog">;
type Reached = Partial<Pick<ValueOf<"upkeep">, "walk" | "visitedAt">>;

/**
 * Goes through all backlogs once an hour, including paused ones and those of agents without a route: ends expired
 * calls, and removes documents of empty, unused backlogs. Each sweep continues where the last one ran out of its budget.
 *
 * @returns the cursor of the next sweep
 */
export async function visitBacklogs(
  last: ValueOf<"upkeep">,
  time: SweepTime,
  deps: DialerDeps,
): Promise<Reached> {
  const { clock } = deps;
  if (last.walk === null && clock.now() - last.visitedAt < visitEveryMs) return {};
  const visitedAt = last.walk === null ? clock.now() : last.visitedAt;
  let walk: Walk | null = last.walk ?? allBacklogs;
  while (walk !== null && !time.isOver()) {
    const { listed, found, next } = await takeStep(walk, { until: Number.MAX_SAFE_INTEGER }, deps);
    const isEnded = await endExpired(found, time, deps);
    if (!isEnded) break; // the next sweep finds the rest at the same place
    const docs = listed.filter(isReadable);
    const empty = new Set(found.flatMap((one) => (one.positions.length === 0 ? one.key : [])));
    warnOfGone(
      docs.filter(({ key }) => !empty.has(key)),
      deps,
    );
    await removeUnused(
      docs.filter(({ key }) => empty.has(key)),
      deps,
    );
    walk = next;
  }
  return { walk, visitedAt };
}

/** Ends expired calls. Resolves to false if the budget is over before all are. */
async function endExpired(
  found: Step["found"],
  time: SweepTime,
  deps: DialerDeps,
): Promise<boolean> {
  const { clock, settings } = deps;
  const { plan } = settings;
  const over = found.flatMap(({ key, positions }) => {
    // Later tries of an agent with `retry` end earlier.
    const { within = Infinity } = findRetry(backlogOfKey(key).agentId, plan) ?? {};
    const lifeMs = Math.min(within, plan.expireAfterHours * hourMs);
    return positions.filter(({ id }) => timeOfId(id) + lifeMs <= clock.now());
  });
  for (let start = 0; start < over.length; start += decidedAtOnce) {
    if (time.isOver()) return false;
    // A repeated request may have renewed the acceptance time of some calls.
    const ids = over.slice(start, start + decidedAtOnce).map(({ id }) => id);
    await writeOff(ids, { endsOnly: true }, deps);
  }
  return true;
}

function warnOfGone(
  backlogs: readonly Backlog[],
  { settings, log }: Pick<DialerDeps, "settings" | "log">,
): void {
  for (const { value } of backlogs) {
    const { agentId: agent_id, client, mode } = value;
    if (findAgentRoute(agent_id, settings.plan) !== undefined) continue;
    log(mode === "test" ? "info" : "alarm", "route.gone", { agent_id, client });
  }
}

/**
 * Removes documents of empty backlogs that nobody has used for long. One of calls that are not urgent stays while urgent
 * calls of its client and agent may wait, as it has their speed.
 */
async function removeUnused(
  empty: readonly Backlog[],
  deps: Pick<DialerDeps, "documents" | "clock">,
): Promise<void> {
  const { documents, clock } = deps;
  const unused = empty.filter(({ value }) => clock.now() - value.usedAt > unusedMs);
  const urgentKeys = unused
    .filter(({ value }) => value.isUrgent !== true)
    .map(({ value }) => urgentOf(value));
  if (unused.length === 0) return;
  const read = await documents.read(urgentKeys);
  const removed = unused.filter(
    ({ value }) => value.isUrgent === true || !read.get("backlog", urgentOf(value).key),
  );
  // A writer that has used the backlog meanwhile has changed the version.
  await documents.remove(removed.map(({ kind, key, version }) => ({ kind, key, seen: version })));
}

function urgentOf({ client, agentId }: Pick<LevelOf, "client" | "agentId">) {
  return { kind: "backlog", key: waitingBacklogOf({ client, agentId, isUrgent: true }) } as const;
}
