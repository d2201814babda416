import { Hono } from "hono";
import { timeOfId } from "../../../shared/calls/ids.ts";
import { routeOf } from "../../../shared/dial-plan/dial-plan.ts";
import type {
  DocumentKey,
  Documents,
  DocumentsRead,
  StoredDocument,
} from "../../../shared/documents/documents.ts";
import {
  type CallLedger,
  comparePlaces,
  type DuePlace,
} from "../../../shared/ledger/call-ledger.ts";
import { pauseKeyOf, pauseKeysOf } from "../../../shared/documents/orders.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import { breakerKeysOf, openBreakers } from "../../../shared/documents/breakers.ts";
import type { ApiEnv, OperatorDeps } from "../context.ts";
import { endOfTime, timeOf } from "./call-views.ts";
import { sweepKey, sweptAtIn } from "./counts.ts";
import { type BacklogsPlace, backlogsQuerySchema, backlogsCursorOf } from "./schemas.ts";
import { query } from "./validate.ts";

/** Documents of backlogs that are listed at once, and pages of them that one answer looks through. */
const pageBacklogs = 500;
const windowPages = 2;
/** Backlogs that are asked at once for their heads. */
const headsAtOnce = 100;
/** Rows of a backlog are counted so far; of so many backlogs at once, which is 5,000 rows. */
const waitingMost = 500;
const countedAtOnce = 10;

/** A backlog in which a call waits. */
interface Waiting {
  document: StoredDocument<"backlog">;
  head: DuePlace;
  route: Route | undefined;
}

/**
 * Backlogs in which calls wait, the one whose head is due first coming first, and what holds each. Heads are compared
 * within a window of 1,000 backlogs: where there are more, those of the next window follow.
 */
export function backlogRoutes(deps: OperatorDeps) {
  return new Hono<ApiEnv>().get("/", query(backlogsQuerySchema), async (c) => {
    const { cursor: { from, after } = {}, limit } = c.req.valid("query");
    const [ledger, documents] = await Promise.all([deps.ledger(), deps.documents()]);
    const window = await windowAfter(from, documents);
    const sorted = await waitingIn(window.backlogs, ledger, deps);
    const rest = sorted.filter(({ head }) => after === undefined || comparePlaces(head, after) > 0);
    const page = rest.slice(0, limit);
    const [read, counts] = await Promise.all([
      documents.read(keysFor(page)),
      countsOf(page, ledger),
    ]);
    const next = nextPlace(page, { from, last: window.last, isMore: rest.length > page.length });
    const oldest = sorted[0]?.head.dueAt ?? null;
    const now = deps.clock.now();
    return c.json({
      backlogs: page.map((one, index) => viewOf(one, counts[index] ?? 0, read, now)),
      waiting_most: waitingMost,
      oldest_due_at: timeOf(oldest),
      swept_at: sweptAtIn(read),
      ...(next === undefined ? {} : { cursor: backlogsCursorOf(next) }),
    });
  });
}

/** Backlogs after one; `last` is where those begin that were not looked at, absent where there are none. */
async function windowAfter(
  from: string | undefined,
  documents: Documents,
): Promise<{ backlogs: StoredDocument<"backlog">[]; last?: string | undefined }> {
  const backlogs: StoredDocument<"backlog">[] = [];
  for (let page = 0; page < windowPages; page++) {
    const after = backlogs.at(-1)?.key ?? from;
    const listed = await documents.list("backlog", { after, limit: pageBacklogs });
    backlogs.push(...listed);
    if (listed.length < pageBacklogs) return { backlogs };
  }
  return { backlogs, last: backlogs.at(-1)?.key };
}

/** Those of the backlogs in which a call waits, in the order of their heads. */
async function waitingIn(
  backlogs: readonly StoredDocument<"backlog">[],
  ledger: CallLedger,
  { plan }: OperatorDeps,
): Promise<Waiting[]> {
  const waiting: Waiting[] = [];
  for (let start = 0; start < backlogs.length; start += headsAtOnce) {
    const some = backlogs.slice(start, start + headsAtOnce);
    const asked = some.map(({ key }) => ({ key }));
    const heads = await ledger.due({ backlogs: asked, until: endOfTime, each: 1 });
    for (const [index, document] of some.entries()) {
      const head = heads[index]?.[0];
      const route = routeOf(document.value.agentId, plan);
      if (head !== undefined) waiting.push({ document, head, route });
    }
  }
  return waiting.toSorted((one, other) => comparePlaces(one.head, other.head));
}

/** How many calls wait in each of the backlogs. */
async function countsOf(page: readonly Waiting[], ledger: CallLedger): Promise<number[]> {
  const counts: number[] = [];
  for (let start = 0; start < page.length; start += countedAtOnce) {
    const some = page.slice(start, start + countedAtOnce);
    const backlogs = some.map(({ document }) => ({ key: document.key }));
    const places = await ledger.due({ backlogs, until: endOfTime, each: waitingMost });
    counts.push(...some.map((_, index) => places[index]?.length ?? 0));
  }
  return counts;
}

/** The documents that tell what holds these backlogs, each once, and when the sweep was last round. */
function keysFor(page: readonly Waiting[]): DocumentKey[] {
  const keys = page.flatMap(({ document: { value }, route }): DocumentKey[] => [
    ...pauseKeysOf(value.agentId, route),
    ...(route === undefined
      ? []
      : [
          ...breakerKeysOf(value.agentId, route).filter(({ kind }) => kind === "breaker"),
          calledUpKeyOf(route),
        ]),
  ]);
  const all = [sweepKey, ...keys];
  return [...new Map(all.map((one) => [`${one.kind} ${one.key}`, one])).values()];
}

function calledUpKeyOf(route: Route): DocumentKey<"called-up"> {
  return { kind: "called-up", key: accountNameOf(route) };
}

/** Where the list goes on; undefined where it ends. */
function nextPlace(
  page: readonly Waiting[],
  { from, last, isMore }: { from: string | undefined; last: string | undefined; isMore: boolean },
): BacklogsPlace | undefined {
  if (isMore) return { from, after: page.at(-1)?.head };
  return last === undefined ? undefined : { from: last };
}

function viewOf(
  { document: { value }, head, route }: Waiting,
  waiting: number,
  read: DocumentsRead,
  now: number,
) {
  const { client, agentId } = value;
  return {
    client,
    agent_id: agentId,
    account: route === undefined ? null : accountNameOf(route),
    head: {
      call_id: head.id,
      due_at: timeOf(head.dueAt),
      accepted_at: timeOf(timeOfId(head.id)),
    },
    // The head was read a moment before the count: a call that has gone meanwhile leaves one to be counted.
    waiting: Math.max(1, waiting),
    called_up_to: route === undefined ? null : calledUpTo(route, read, now),
    held_by: heldBy(agentId, route, read),
  };
}

/** Up to when calls of the route's account are called up; null where that is not ahead. */
function calledUpTo(route: Route, read: DocumentsRead, now: number): string | null {
  const { kind, key } = calledUpKeyOf(route);
  const time = (read.get(kind, key)?.value.arrivalUs ?? 0) / 1000;
  return time > now ? timeOf(time) : null;
}

/** What keeps an agent's calls from going: pauses, a plan without a route, open circuit breakers by their keys. */
function heldBy(agentId: string, route: Route | undefined, read: DocumentsRead): string[] {
  const stands = ({ kind, key }: DocumentKey) => read.get(kind, key) !== undefined;
  const pauses = stands(pauseKeyOf({ agent: agentId })) ? ["agent_paused"] : [];
  if (route === undefined) return [...pauses, "route_gone"];
  if (stands(pauseKeyOf({ account: route.provider }))) pauses.push("account_paused");
  return [...pauses, ...openBreakers(agentId, route, read).map(({ key }) => key)];
}
