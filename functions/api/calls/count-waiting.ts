import { dayMs } from "#shared/lib/units.ts";
import type { FoundDocument } from "#shared/ports/document-kinds.ts";
import { randomVersion } from "#shared/lib/random.ts";
import type { ApiDeps } from "../http/context.ts";

/** Minimum time between two counts of a client's waiting calls. */
const countedEveryMs = 10_000;
/** Backlogs that are read at once, and maximum backlogs of a client that are counted. */
const backlogsAtOnce = 10;
export const backlogsMax = 1_000;
const endOfTime = Number.MAX_SAFE_INTEGER;

interface Standing {
  client: string;
  at: number;
  /** Calls of the request, which are among those of the day. */
  calls: number;
  /** Calls of the client's day. */
  total: number;
  /** Maximum of waiting calls. */
  limit: number;
}

type CountDeps = Pick<ApiDeps, "documents" | "ledger" | "randomId">;

/**
 * Returns how many calls of a client wait, including those of this request. While the last count of today and all
 * calls since then fit into the limit, their sum is the answer, though some of these calls may have been dialed.
 * Otherwise the waiting rows are counted again, at most once in ten seconds unless calls were subtracted since, and the
 * rows of the last count leave room for the request. Calls on the queue without a row do not count.
 */
export async function countWaiting(standing: Standing, deps: CountDeps): Promise<number> {
  const { client, at, calls, total, limit } = standing;
  const name = { kind: "client-waiting", key: client } as const;
  const read = (await deps.documents.read([name])).get(name.kind, name.key);
  const last = read?.value;
  const isRecent = last !== undefined && at - last.at < countedEveryMs;
  // The number of calls is unknown since a count of an earlier day, and since a count during which calls were
  // subtracted.
  if (last !== undefined && dayOf(last.at) === dayOf(at) && last.calls <= total - calls) {
    const most = last.waiting + Math.max(calls, total - last.calls);
    if (most <= limit || isRecent) return most;
  }
  // Subtractions of requests in flight do not make room for this one.
  if (isRecent && last.waiting + calls > limit) return last.waiting + calls;
  const waiting = await countRows({ client, limit }, deps);
  const value = { waiting, at, calls: total - calls };
  const next = {
    ...name,
    version: randomVersion(deps.randomId()),
    value,
    expiresAt: at + 2 * dayMs,
  };
  await deps.documents.write([{ next, seen: read?.version ?? null }]); // another count of this moment is as good
  return waiting + calls;
}

function dayOf(at: number): number {
  return Math.floor(at / dayMs);
}

/** Counts the waiting rows of a client, until there are as many as the limit. A client with too many backlogs has reached it. */
async function countRows(
  { client, limit }: Pick<Standing, "client" | "limit">,
  { documents, ledger }: CountDeps,
): Promise<number> {
  const prefix = `${JSON.stringify([client]).slice(0, -1)},`;
  let waiting = 0;
  let after: string | undefined = prefix;
  for (let read = 0; read < backlogsMax && waiting < limit; read += backlogsAtOnce) {
    const listed: FoundDocument<"backlog">[] = await documents.list("backlog", {
      after,
      limit: backlogsAtOnce,
    });
    const backlogs = listed.flatMap(({ key }) => (key.startsWith(prefix) ? { key } : []));
    if (backlogs.length === 0) return waiting;
    const found = await ledger.due({ lanes: backlogs, until: endOfTime, each: limit - waiting });
    waiting += found.reduce((sum, rows) => sum + rows.length, 0);
    if (backlogs.length < backlogsAtOnce) return waiting;
    after = backlogs.at(-1)?.key;
  }
  return Math.max(waiting, limit);
}
