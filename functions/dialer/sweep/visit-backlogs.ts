import { isUrgentMark, type LevelOf, waitingBacklogOf } from "../../../shared/calls/call-row.ts";
import { isTestClient, timeOfId } from "../../../shared/calls/ids.ts";
import { findAgentRoute, findRetry } from "../../../shared/dial-plan/dial-plan.ts";
import type { StoredDocument } from "../../../shared/ports/document-kinds.ts";
import { isReadable } from "../../../shared/ports/listed-document.ts";
import type { DuePosition } from "../../../shared/ports/ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { writeOff } from "../dispatch/decide-rows.ts";
import type { SweepTime } from "./sweep-time.ts";
import { hourMs } from "../../../shared/lib/units.ts";

/** Interval of the visits of every backlog. */
const visitEveryMs = hourMs;
/** Time without use after which an empty backlog's document is removed. */
const unusedMs = 2 * hourMs;
/** Maximum backlogs per listed page, and rows per read. */
const pageBacklogs = 500;
const pageRows = 5_000;
const decidedAtOnce = 200;

type Backlog = StoredDocument<"backlog">;
type Reached = Partial<Pick<StoredDocument<"sweep">["value"], "backlogsAfter" | "visitedAt">>;

/**
 * Goes through all backlogs once an hour, including paused ones and those of agents without a route: ends expired
 * calls, and removes documents of empty, unused backlogs. Each sweep continues where the last one ran out of time.
 *
 * @returns the cursor of the next sweep
 */
export async function visitBacklogs(
  { backlogsAfter, visitedAt }: StoredDocument<"sweep">["value"],
  time: SweepTime,
  deps: DialerDeps,
): Promise<Reached> {
  const { documents, clock } = deps;
  if (backlogsAfter === null && clock.now() - visitedAt < visitEveryMs) return {};
  const beganAt = backlogsAfter === null ? clock.now() : visitedAt;
  let after = backlogsAfter ?? undefined;
  for (;;) {
    const page = await documents.list("backlog", { after, limit: pageBacklogs });
    for (const backlog of page) {
      if (time.isOver()) return { backlogsAfter: after ?? "", visitedAt: beganAt };
      if (isReadable(backlog)) await visit(backlog, time, deps);
      after = backlog.key;
    }
    if (page.length < pageBacklogs) return { backlogsAfter: null, visitedAt: beganAt };
  }
}

async function visit(backlog: Backlog, time: SweepTime, deps: DialerDeps): Promise<void> {
  const { ledger, documents, clock, settings, log } = deps;
  const { key, version, value } = backlog;
  // Later tries of an agent with `retry` end earlier.
  const { within = Infinity } = findRetry(value.agentId, settings.plan) ?? {};
  const lifeMs = Math.min(within, settings.plan.expireAfterHours * hourMs);
  let after: DuePosition | undefined;
  let isEmpty = true;
  while (!time.isOver()) {
    const backlogs = [{ key, after }];
    const query = { backlogs, until: Number.MAX_SAFE_INTEGER, each: pageRows };
    const [page = []] = await ledger.due(query);
    isEmpty &&= page.length === 0;
    const over = page.filter(({ id }) => timeOfId(id) + lifeMs <= clock.now());
    for (let start = 0; start < over.length; start += decidedAtOnce) {
      // A repeated request may have renewed the acceptance time of some calls.
      const ids = over.slice(start, start + decidedAtOnce).map(({ id }) => id);
      await writeOff(ids, { endsOnly: true }, deps);
    }
    after = page.at(-1);
    if (page.length < pageRows) break;
  }
  if (!isEmpty) {
    const { agentId: agent_id, client } = value;
    if (findAgentRoute(agent_id, settings.plan) === undefined) {
      log(isTestClient(client) ? "info" : "alarm", "route.gone", { agent_id, client });
    }
  } else if (clock.now() - value.usedAt > unusedMs) {
    if (!isUrgentMark(value.isUrgent) && (await hasUrgent(value, deps))) return;
    // A writer that has used the backlog meanwhile has changed the version.
    await documents.remove([{ kind: "backlog", key, seen: version }]);
  }
}

/** True if urgent calls of a client and agent may wait. Their speed stands in the other backlog's document. */
async function hasUrgent(
  { client, agentId }: Pick<LevelOf, "client" | "agentId">,
  { documents }: DialerDeps,
): Promise<boolean> {
  const key = waitingBacklogOf({ client, agentId, isUrgent: true });
  return (await documents.read([{ kind: "backlog", key }])).get("backlog", key) !== undefined;
}
