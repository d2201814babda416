import { timeOfId } from "#shared/calls/ids.ts";
import type { Documents } from "#shared/ports/documents.ts";
import type { FoundDocument, StoredDocument } from "#shared/ports/document-kinds.ts";
import { isReadable } from "#shared/ports/found-documents.ts";
import { type CallLedger, comparePositions, type DuePosition } from "#shared/ports/ledger.ts";
import { sweepKey } from "#shared/policy/ledger-epoch.ts";
import * as z from "#shared/lib/zod.ts";
import { accountNameOf, type Route } from "#shared/calls/call-request.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { lastSweepAt, findLastSweepAt } from "./ledger.ts";
import { duePositionSchema, toCursor, createCursorSchema } from "../api/http/cursors.ts";
import { endOfTime, limit, nextCursor, time, toIsoTime } from "../api/http/fields.ts";
import { causeForLog } from "../api/http/port-limits.ts";
import { declareRoute } from "../api/http/route.ts";
import { readWaitingNow } from "./forecast/waiting-now.ts";
import { type HolderView, holdersSchema, toHolderViews } from "./why.ts";

/** Backlogs of one page, and pages of one window. */
const pageBacklogs = 500;
const windowPages = 2;
/** Backlogs whose heads are read at once. */
const headsAtOnce = 100;
/** Maximum counted rows of a backlog that `readWaitingNow` does not know, and backlogs counted at once: 5,000 rows. */
const waitingMax = 500;
const countedAtOnce = 10;

/** A backlog in which a call waits. */
interface Waiting {
  document: StoredDocument<"backlog">;
  head: DuePosition;
  route: Route | undefined;
}

const backlogViewSchema = z
  .strictObject({
    client: z.string(),
    agent_id: z.string(),
    urgent: z.boolean().check(z.describe("True of the calls that go before the others")),
    account: z
      .nullable(z.string())
      .check(z.describe("Where today's plan sends them; null where it has no route")),
    head: z
      .strictObject({ call_id: z.string(), due_at: time, accepted_at: time })
      .check(
        z.describe(
          "The call whose turn is first. It is late where `due_at` has passed; a later one waits for its hours or for a repeat",
        ),
      ),
    waiting: z.int().check(z.describe("How many calls wait, as `why` counts them")),
    waiting_is_whole: z.boolean().check(z.describe("False where more of them wait")),
    holders: z
      .nullable(holdersSchema)
      .check(z.describe("What holds its calls now, as `why` says; null if that could not be read")),
  })
  .check(
    z.meta({
      id: "Backlog",
      description: "The waiting calls of one client and one agent, the urgent ones or the others.",
    }),
  );
export type BacklogView = z.infer<typeof backlogViewSchema>;

const backlogsSchema = z.strictObject({
  backlogs: z
    .array(backlogViewSchema)
    .check(
      z.describe(
        "In the order in which the first call of each is due. Of more than 1,000 backlogs, each 1,000 are sorted by themselves",
      ),
    ),
  oldest_due_at: z
    .nullable(time)
    .check(
      z.describe(
        "When the earliest call of these backlogs, at most 1,000, is or was due; null: none waits",
      ),
    ),
  last_sweep_at: lastSweepAt,
  cursor: nextCursor,
});
export type Backlogs = z.infer<typeof backlogsSchema>;

/** Cursor of the list: continues after a head, in the window of backlogs after a document. */
const cursorSchema = z.strictObject({
  /** Key of the document before the window; absent for the first window. */
  from: z.optional(z.string()),
  after: z.optional(duePositionSchema),
});
type BacklogsCursor = z.infer<typeof cursorSchema>;

/** Sorts by heads within windows of 1,000 backlogs, one window after the other. */
const listBacklogs = declareRoute({
  operationId: "listBacklogs",
  summary: "List whose calls wait, since when, and what holds them, the earliest due first",
  method: "get",
  path: "/backlogs",
  query: z.strictObject({ cursor: z.optional(createCursorSchema(cursorSchema)), limit }),
  answer: backlogsSchema,
  async handle({ deps, query }) {
    const { from, after } = query.cursor ?? {};
    const { ledger, documents } = deps;
    const window = await windowAfter(from, documents);
    const sorted = await waitingIn(window.backlogs, ledger, deps);
    const rest = sorted.filter(
      ({ head }) => after === undefined || comparePositions(head, after) > 0,
    );
    const page = rest.slice(0, query.limit);
    const [read, known] = await Promise.all([
      documents.read([sweepKey]),
      page.length === 0 ? new Map<string, Known>() : readKnown(deps),
    ]);
    const unknown = page.filter(({ document: { key } }) => !known.has(key));
    const counts = await countsOf(unknown, ledger);
    const next = cursorAfter(page, { from, last: window.last, isMore: rest.length > page.length });
    const oldest = sorted[0]?.head.dueAt ?? null;
    return {
      backlogs: page.map((one) => viewOf(one, known.get(one.document.key) ?? counts.get(one))),
      oldest_due_at: toIsoTime(oldest),
      last_sweep_at: findLastSweepAt(read),
      ...(next === undefined ? {} : { cursor: toCursor(next) }),
    };
  },
});

export const backlogRoutes = [listBacklogs];

/** Reads a window of backlogs. More may follow after `last`; it is absent at the end. */
async function windowAfter(
  from: string | undefined,
  documents: Documents,
): Promise<{ backlogs: FoundDocument<"backlog">[]; last?: string | undefined }> {
  const backlogs: FoundDocument<"backlog">[] = [];
  for (let page = 0; page < windowPages; page++) {
    const after = backlogs.at(-1)?.key ?? from;
    const listed = await documents.list("backlog", { after, limit: pageBacklogs });
    backlogs.push(...listed);
    if (listed.length < pageBacklogs) return { backlogs };
  }
  return { backlogs, last: backlogs.at(-1)?.key };
}

/** Returns the backlogs in which a call waits, in the order of their heads. */
async function waitingIn(
  backlogs: readonly FoundDocument<"backlog">[],
  ledger: CallLedger,
  { settings: { table } }: RouteDeps,
): Promise<Waiting[]> {
  const waiting: Waiting[] = [];
  for (let start = 0; start < backlogs.length; start += headsAtOnce) {
    const some = backlogs.slice(start, start + headsAtOnce);
    const asked = some.map(({ key }) => ({ key }));
    const heads = await ledger.due({ lanes: asked, until: endOfTime, each: 1 });
    for (const [index, document] of some.entries()) {
      if (!isReadable(document)) continue; // the dispatcher raises an alarm
      const head = heads[index]?.[0];
      const route = table.find(document.value);
      if (head !== undefined) waiting.push({ document, head, route });
    }
  }
  return waiting.toSorted((one, other) => comparePositions(one.head, other.head));
}

/** The number and the holders of the calls that wait in a backlog. */
interface Known {
  calls: number;
  isWhole: boolean;
  /** Null: the holders could not be read. */
  holders: HolderView[] | null;
}

/** Counts the waiting calls of each backlog. */
async function countsOf(
  page: readonly Waiting[],
  ledger: CallLedger,
): Promise<Map<Waiting, Known>> {
  const counts = new Map<Waiting, Known>();
  for (let start = 0; start < page.length; start += countedAtOnce) {
    const some = page.slice(start, start + countedAtOnce);
    const backlogs = some.map(({ document }) => ({ key: document.key }));
    const positions = await ledger.due({ lanes: backlogs, until: endOfTime, each: waitingMax });
    for (const [index, one] of some.entries()) {
      const calls = positions[index]?.length ?? 0;
      counts.set(one, { calls, isWhole: calls < waitingMax, holders: null });
    }
  }
  return counts;
}

/** Returns the cursor of the next page; undefined at the end. */
function cursorAfter(
  page: readonly Waiting[],
  { from, last, isMore }: { from: string | undefined; last: string | undefined; isMore: boolean },
): BacklogsCursor | undefined {
  if (isMore) return { from, after: page.at(-1)?.head };
  return last === undefined ? undefined : { from: last };
}

function viewOf(
  { document: { value }, head, route }: Waiting,
  { calls, isWhole, holders }: Known = { calls: 0, isWhole: true, holders: null },
): BacklogView {
  const { client, agentId, isUrgent } = value;
  const account = route === undefined ? null : accountNameOf(route);
  return {
    client,
    agent_id: agentId,
    urgent: isUrgent === true,
    account,
    head: {
      call_id: head.id,
      due_at: toIsoTime(head.dueAt),
      accepted_at: toIsoTime(timeOfId(head.id)),
    },
    // The head was read before the count, and counts even if its call has left the backlog meanwhile.
    waiting: Math.max(1, calls),
    waiting_is_whole: isWhole,
    holders,
  };
}

/** Reads how many calls of each backlog wait and what holds them, by its key. Empty if that cannot be read now. */
async function readKnown(deps: RouteDeps): Promise<Map<string, Known>> {
  try {
    const { calls, agentsCut, isCut } = await readWaitingNow(deps);
    const byBacklog = Map.groupBy(calls, ({ backlog }) => backlog);
    return new Map(
      [...byBacklog].map(([key, own]) => {
        const isWhole = !isCut && !own.some(({ agentId }) => agentsCut.has(agentId));
        return [key, { calls: own.length, isWhole, holders: toHolderViews(own) }];
      }),
    );
  } catch (error) {
    deps.log("warning", "backlogs.holders_not_read", { error: causeForLog(error) });
    return new Map();
  }
}
