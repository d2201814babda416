import { timeOfId } from "../../../shared/calls/ids.ts";
import { routeOf } from "../../../shared/dial-plan/routes.ts";
import type { DuePlace } from "../../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import { isPaused } from "../../../shared/documents/orders.ts";
import { accountNameOf } from "../../../shared/providers/index.ts";
import type { DialerDeps } from "../context.ts";
import { sendHints } from "./hints.ts";
import type { Backlog } from "./marks.ts";
import { aheadMsOf, pageRows } from "./read-backlogs.ts";
import { readFor, type Seen, serveAccount } from "./serve-account.ts";
import { writeBacklogs } from "./write-backlogs.ts";

/** Time since its last use within which a backlog may have rows that its document does not show. */
const usedMs = 45 * 60_000;
/** Interval of the full visit of every backlog, whatever its document says. */
const visitedMs = 3_600_000;
/** Maximum backlog documents per listed page. */
const pageBacklogs = 500;

/** The time budget of a sweep. It ends before the invocation and the lease do. */
export interface SweepTime {
  isOver(): boolean;
}

/**
 * Calls up waiting rows: per account as many as it has places for before the next sweep, round robin over the
 * backlogs that the current plan routes to it.
 *
 * @param from key of the backlog at which the last sweep stopped
 */
export async function callUp(
  from: string | undefined,
  time: SweepTime,
  deps: DialerDeps,
): Promise<{ isWhole: boolean; after: string | null }> {
  let after = from;
  let isWhole = true;
  while (!time.isOver()) {
    const page = await deps.documents.list("backlog", { after, limit: pageBacklogs });
    const served = await serveAll(
      page.map((document) => ({
        document,
        route: routeOf(document.value.agentId, deps.settings.plan),
      })),
      time,
      deps,
    );
    isWhole &&= served === "all";
    if (served === "none") break; // the next sweep starts with them
    after = page.at(-1)?.key ?? after;
    if (page.length < pageBacklogs) return { isWhole, after: null };
  }
  return { isWhole: false, after: after ?? null };
}

/** Serves a page of backlogs while there is time. A failing account does not keep the others waiting. */
async function serveAll(
  all: readonly Seen[],
  time: SweepTime,
  deps: DialerDeps,
): Promise<"all" | "some" | "none"> {
  const now = deps.clock.now();
  const visited = all.filter(({ document }) => isVisited(document, now, aheadMsOf(deps)));
  if (visited.length === 0) return "all";
  const read = await readFor(visited, deps);
  const accounts = new Map<string, Seen[]>();
  const still: Seen[] = [];
  for (const seen of visited) {
    const { route, document } = seen;
    try {
      if (route === undefined || isPaused(document.value.agentId, route, read)) still.push(seen);
      else {
        const account = accountNameOf(route);
        accounts.set(account, [...(accounts.get(account) ?? []), seen]);
      }
    } catch (error) {
      // A pause that only a later version can read keeps its own backlog waiting, and no other.
      deps.log("alarm", "sweep.failed", { error: errorForLog(error) });
    }
  }
  let left = accounts.size + still.length;
  const serve = async (work: () => Promise<void>) => {
    if (time.isOver()) return;
    await work().then(
      () => (left -= 1),
      (error: unknown) => deps.log("alarm", "sweep.failed", { error: errorForLog(error) }),
    );
  };
  for (const [account, backlogs] of rotated([...accounts], now)) {
    await serve(() => serveAccount(account, backlogs, read, deps));
  }
  for (const seen of rotated(still, now)) await serve(() => visitStill(seen, time, deps));
  if (left === 0) return "all";
  return left === accounts.size + still.length && time.isOver() ? "none" : "some";
}

/** Rotates the order by one each minute, so that under time pressure no item is always last. */
function rotated<One>(all: readonly One[], now: number): One[] {
  const start = all.length === 0 ? 0 : Math.floor(now / 60_000) % all.length;
  return [...all.slice(start), ...all.slice(0, start)];
}

function isVisited({ value }: Backlog, now: number, aheadMs: number): boolean {
  const { nextDueAt, usedAt, visitedAt } = value;
  return (
    (nextDueAt !== null && nextDueAt <= now + aheadMs) ||
    now - usedAt < usedMs ||
    now - visitedAt >= visitedMs
  );
}

/** Visits a paused backlog, or one without a route, once an hour and calls up what is past its time. */
async function visitStill(
  { document, route }: Seen,
  time: SweepTime,
  deps: DialerDeps,
): Promise<void> {
  const { clock, settings, ledger, log } = deps;
  const now = clock.now();
  if (now - document.value.visitedAt < visitedMs) {
    if (document.value.nextDueAt !== null) return;
    // Rows may have been written since the backlog was seen empty, and a resume must find them at once.
    await writeBacklogs([{ document, value: { ...document.value, nextDueAt: now } }], deps);
    return;
  }
  const lifeMs = settings.plan.expireAfterHours * 3_600_000;
  let after: DuePlace | undefined;
  let nextDueAt: number | null = null;
  while (!time.isOver()) {
    const backlogs = [{ key: document.key, after }];
    const [page = []] = await ledger.due({
      backlogs,
      until: Number.MAX_SAFE_INTEGER,
      each: pageRows,
    });
    nextDueAt ??= page[0]?.dueAt ?? null;
    const over = page.filter(({ id }) => timeOfId(id) + lifeMs <= now);
    await sendHints(
      over.map(({ id }) => ({ id, moment: now })),
      deps,
    );
    after = page.at(-1);
    if (page.length < pageRows) break;
  }
  if (route === undefined && nextDueAt !== null) {
    log("alarm", "route.gone", { agent_id: document.value.agentId, client: document.value.client });
  }
  const value = { ...document.value, visitedAt: now, nextDueAt };
  await writeBacklogs([{ document, value }], deps);
}
