import { backlogOfKey, type LevelOf, waitingLaneOf } from "#shared/calls/call-row.ts";
import { isTestClient, timeOfId } from "#shared/calls/ids.ts";
import { findCallBacks, findRetry } from "#shared/dial-plan/dial-plan.ts";
import type { StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { writeOff } from "../dispatch/decide-rows.ts";
import type { SweepTime } from "./sweep-time.ts";
import { measuredBacklogs } from "./log-gauges.ts";
import { reportGone } from "./warn-gone-routes.ts";
import { allBacklogs, type Step, takeStep, type Walk } from "./walk-backlogs.ts";
import { hourMs, minuteMs } from "#shared/lib/units.ts";

/**
 * Interval of the visits of every backlog, and a shorter interval if more calls wait than operators' views count
 * themselves.
 */
const visitEveryMs = hourMs;
const countEveryMs = 5 * minuteMs;
const countedMax = 50_000;
/** Time without use after which an empty backlog's document is removed. */
const unusedMs = 2 * hourMs;
const decidedAtOnce = 200;
/** Backlogs that a visit names as those that wait longest. Once the first one is empty, the others count until the next visit. */
const longestDueMax = 20;

type Backlog = StoredDocument<"backlog">;
/** A call that waits in a backlog. */
interface PositionIn {
  key: string;
  id: string;
}
type Reached = Partial<
  Pick<ValueOf<"upkeep">, "walk" | "visitedAt" | "counted" | "waiting" | "dueFound" | "longestDue">
>;
type DueFound = NonNullable<ValueOf<"upkeep">["dueFound"]>;

/**
 * Goes through all backlogs once an hour, including paused ones and those of agents without a route: ends expired
 * calls, counts those that wait, finds those that have been due longest, and removes documents of empty, unused
 * backlogs. Each sweep continues where the last one ran out of its budget.
 *
 * @returns the cursor of the next sweep
 */
export async function visitBacklogs(
  last: ValueOf<"upkeep">,
  time: SweepTime,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "rowsPerSecond" | "wakeDispatcher">,
): Promise<Reached> {
  const { clock } = deps;
  const everyMs = (last.waiting?.calls ?? 0) > countedMax ? countEveryMs : visitEveryMs;
  if (last.walk === null && clock.now() - last.visitedAt < everyMs) return {};
  const visitedAt = last.walk === null ? clock.now() : last.visitedAt;
  let counted = last.walk === null ? 0 : (last.counted ?? 0);
  let dueFound = last.walk === null ? [] : (last.dueFound ?? []);
  let walk: Walk | null = last.walk ?? allBacklogs;
  while (walk !== null && !time.isOver()) {
    const step: Step = await takeStep(walk, { until: Number.MAX_SAFE_INTEGER }, deps);
    const left = await endExpired(step.found, time, deps);
    const { listed, found, next }: Step = left.length === 0 ? step : cutStep(step, left, walk);
    const docs = listed.filter(isReadable);
    const empty = new Set(step.found.flatMap((one) => (one.positions.length === 0 ? one.key : [])));
    reportGone(
      docs.filter(({ key }) => !empty.has(key)),
      deps,
    );
    await removeUnused(
      docs.filter(({ key }) => empty.has(key)),
      deps,
    );
    counted += found.reduce((sum, { positions }) => sum + positions.length, 0);
    dueFound = addFirst(dueFound, step, walk);
    walk = next;
  }
  const waiting = { calls: counted, at: visitedAt };
  if (walk !== null) return { walk, visitedAt, counted, ...(dueFound.length > 0 && { dueFound }) };
  const longestDue = dueFound.length === 0 ? undefined : dueFound.map(({ key }) => key);
  return { walk, visitedAt, counted, waiting, dueFound: undefined, longestDue };
}

/**
 * Adds a step's backlogs by their first calls, and returns those whose calls are due first. Test calls do not count.
 * Where there are few backlogs, returns none: each sweep measures them all.
 */
function addFirst(known: DueFound, { listed, found }: Step, { after }: Walk): DueFound {
  if (after === null && listed.length < measuredBacklogs) return known;
  if (listed.length === 0) return known; // the step has gone on behind the first calls
  const more = found
    .filter(({ key }) => !isTestClient(backlogOfKey(key).client))
    .flatMap(({ key, positions: [first] }) => (first ? { key, dueAt: first.dueAt } : []));
  return [...known, ...more]
    .toSorted((one, other) => one.dueAt - other.dueAt)
    .slice(0, longestDueMax);
}

/** Ends expired calls, at least some. Resolves to those that may have expired and for which no time was left. */
async function endExpired(
  found: Step["found"],
  time: SweepTime,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "rowsPerSecond" | "wakeDispatcher">,
): Promise<PositionIn[]> {
  const over = found.flatMap((backlog) => findOver(backlog, deps));
  for (let start = 0; start < over.length; start += decidedAtOnce) {
    const end = start + decidedAtOnce;
    const ids = over.slice(start, end).map(({ id }) => id);
    await writeOff(ids, { endsOnly: true }, deps);
    if (time.isOver()) return over.slice(end);
  }
  return [];
}

/**
 * Returns the calls of a backlog that may have expired, by their positions. A repeated request may have renewed the
 * acceptance time of some.
 */
function findOver(
  { key, positions }: Step["found"][number],
  { clock, settings: { plan } }: Pick<DialerDeps, "clock" | "settings">,
): PositionIn[] {
  const now = clock.now();
  const { agentId, isUrgent } = backlogOfKey(key);
  // Later tries of an agent with `retry` end earlier.
  const { within = Infinity } = findRetry(agentId, plan) ?? {};
  const lifeMs = Math.min(within, plan.expireAfterHours * hourMs);
  const mayBePromised = isUrgent && findCallBacks(agentId, plan) !== undefined;
  return positions.flatMap(({ id, dueAt }) => {
    // A promised call may be older, and ends soon after its own time, which a wait may have moved.
    const isOver = mayBePromised ? dueAt <= now : timeOfId(id) + lifeMs <= now;
    return isOver ? { key, id } : [];
  });
}

/** Returns a step as one that has ended before the calls that are left, so that the walk goes on there. */
function cutStep({ listed, found, next }: Step, left: readonly PositionIn[], walk: Walk): Step {
  const firstOf = new Map(left.toReversed().map(({ key, id }) => [key, id]));
  const cut = found.map(({ key, positions }) => {
    const end = positions.findIndex(({ id }) => id === firstOf.get(key));
    return { key, positions: end < 0 ? positions : positions.slice(0, end) };
  });
  const again = cut.flatMap(({ key, positions }) => {
    const before = walk.open.find((one) => one.key === key)?.after;
    return firstOf.has(key) ? { key, after: positions.at(-1) ?? before } : [];
  });
  const { open, ...at } = next ?? { after: null, isLast: true, open: [] };
  const others = open.filter(({ key }) => !firstOf.has(key));
  return { listed, found: cut, next: { ...at, open: [...again, ...others] } };
}

/**
 * Removes documents of empty backlogs that nobody has used for long. The document of a backlog that is not urgent
 * stays while urgent calls of its client and agent may wait, because it has their speed.
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
  return { kind: "backlog", key: waitingLaneOf({ client, agentId, isUrgent: true }) } as const;
}
