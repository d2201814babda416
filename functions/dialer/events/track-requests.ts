import { pendingKeptMs } from "../../../shared/events/outbox-rows.ts";
import { toCallId } from "../../../shared/calls/ids.ts";
import { isFinished } from "../../../shared/calls/states.ts";
import { findReceiverNamed, findReceiver } from "../../../shared/dial-plan/receivers.ts";
import type { StoredDocument } from "../../../shared/ports/document-kinds.ts";
import { readLastTries } from "../../../shared/ports/last-tries.ts";
import { isReadable } from "../../../shared/ports/listed-document.ts";
import { toDeliverMessages, deliveredKeyOf } from "../../../shared/events/outbox-ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { finishForOwn } from "./own-finished.ts";
import { messageGraceMs, countDeliverable, readBreakers } from "./sweep-events.ts";

type RequestDocument = StoredDocument<"request">;

/** Requests of one page, and maximum requests of one sweep. */
const pageRequests = 200;
const requestsMax = 2_000;
/** Maximum calls of one read. */
const pageCalls = 1_000;
/** Calls after which a sweep leaves the other requests to the next sweep. */
const callsMax = 50_000;

/**
 * Tracks the requests that have a document, as their client gets `request.finished`: moves them past calls that are
 * finished already, so that no later sweep reads those. Counts the calls of finished requests, and sends messages for
 * their events.
 *
 * @param after the request after which the last sweep stopped
 * @returns the request after which the next sweep continues. Null: at the first one
 */
export async function trackRequests(
  after: string | null,
  time: { isOver(): boolean },
  deps: DialerDeps,
): Promise<string | null> {
  const { documents, settings } = deps;
  const { events, clientReceivers } = settings.plan;
  if (events === undefined && clientReceivers === false) return null;
  let last = after;
  let calls = 0;
  for (let seen = 0; seen < requestsMax; seen += pageRequests) {
    const query = { ...(last === null ? {} : { after: last }), limit: pageRequests };
    const page = await documents.list("request", query);
    const readable = page.filter(isReadable);
    await sendFinished(readable, deps);
    for (const request of await withFirstFinished(readable, deps)) {
      if (time.isOver() || calls >= callsMax) return last;
      calls += await trackOne(request, deps);
      last = request.key;
    }
    if (page.length < pageRequests) return null;
    last = page.at(-1)?.key ?? null;
  }
  return last;
}

/**
 * Sends messages for finished requests whose events have been pending for some time: for each receiver at most as
 * many as it can take until the next sweep, or one as the probe of an open circuit breaker.
 */
async function sendFinished(page: readonly RequestDocument[], deps: DialerDeps): Promise<void> {
  const { eventsQueue, documents, clock, settings, sweepSeconds } = deps;
  const now = clock.now();
  const due = page.filter(
    ({ value: { dueAt } }) => dueAt !== undefined && dueAt <= now - messageGraceMs,
  );
  if (due.length === 0) return;
  const { plan } = settings;
  const byReceiver = Map.groupBy(due, ({ value }) => findReceiver(value.client, plan)?.name ?? "");
  const breakers = await readBreakers([...byReceiver.keys()], documents);
  for (const [name, some] of byReceiver) {
    const receiver = findReceiverNamed(name, plan);
    if (receiver === undefined) continue;
    const most = countDeliverable(receiver, breakers, { now, sweepSeconds });
    const requests = some.slice(0, most).map(({ key }) => key);
    await eventsQueue.sendMany(toDeliverMessages(name, { requests, swept: true }, now));
  }
}

/** Returns the requests whose next call is finished, by one read of these calls. */
async function withFirstFinished(
  page: readonly RequestDocument[],
  { ledger, clock }: DialerDeps,
): Promise<RequestDocument[]> {
  const now = clock.now();
  const open = page.filter(({ value }) => value.finishedAt === null);
  const idOf = ({ key, value }: RequestDocument) => toCallId(key, value.finished);
  const { rows } = await ledger.read(open.map(idOf));
  const last = await readLastTries(rows.values(), (ids) => ledger.read(ids));
  return open.filter((request) => {
    const row = last.get(idOf(request));
    return row !== undefined && isFinished(row, now);
  });
}

/**
 * Moves one request past its finished calls. Once all are finished, they are counted from the start: a call in review
 * may have been placed since it was passed, and may even wait for its result again.
 *
 * @returns the number of calls that it read
 */
async function trackOne(request: RequestDocument, deps: DialerDeps): Promise<number> {
  const { documents, eventsQueue, random, clock, settings } = deps;
  const { key, value, version, expiresAt } = request;
  if (value.finished === 0 && (await isDeliveredAlready(request, deps))) {
    await documents.remove([{ kind: "request", key, seen: version }]);
    return 0;
  }
  const passed = await countFinished(request, value.finished, deps);
  const isAtEnd = passed.finished === value.calls;
  const isWhole = value.finished === 0 || !isAtEnd;
  const counted = isWhole ? passed : await countFinished(request, 0, deps);
  const read = passed.finished - value.finished + (isWhole ? 0 : counted.finished);
  const { finished, states, results } = counted;
  if (finished === value.finished) return read;
  const isComplete = finished === value.calls;
  const now = clock.now();
  const next: RequestDocument = {
    ...request,
    version: random.version(),
    value: isComplete
      ? { ...value, finished, states, results, finishedAt: now, dueAt: now }
      : { ...value, finished },
    // Like a row with pending events, it outlives its retention.
    expiresAt: isComplete ? (expiresAt ?? now) + pendingKeptMs : expiresAt,
  };
  if (isComplete && !(await finishForOwn(next, deps))) return read;
  if (isComplete && value.ownOnly === true) {
    await documents.remove([{ kind: "request", key, seen: version }]);
    return read;
  }
  const [isWritten] = await documents.write([{ next, seen: version }]);
  const receiver = findReceiver(value.client, settings.plan);
  if (isWritten !== true || !isComplete || receiver === undefined) return read;
  await eventsQueue.sendMany(toDeliverMessages(receiver.name, { requests: [key] }, now));
  return read;
}

/**
 * True if a function that stood still has written a request's document after its event was delivered. After an
 * operator's replay the event is to be delivered again.
 */
async function isDeliveredAlready(
  { key: request, value: { replayedAt = -Infinity } }: RequestDocument,
  { documents }: DialerDeps,
): Promise<boolean> {
  const key = deliveredKeyOf(request);
  const delivered = (await documents.read([key])).get(key.kind, key.key);
  return delivered !== undefined && delivered.value.finishedAt > replayedAt;
}

/** Counts of a request's calls. `finished`: index of the first unfinished call, or the number of calls. */
type Counted = Pick<RequestDocument["value"], "finished" | "states" | "results">;

/** Counts the calls of a request from index `from` up to the first unfinished one. */
async function countFinished(
  { key, value: { calls } }: RequestDocument,
  from: number,
  { ledger, clock }: DialerDeps,
): Promise<Counted> {
  const counted: Counted = { finished: from, states: {}, results: {} };
  while (counted.finished < calls) {
    const start = counted.finished;
    const ids = Array.from({ length: Math.min(calls - start, pageCalls) }, (_, n) =>
      toCallId(key, start + n),
    );
    const { rows } = await ledger.readWithoutContext(ids);
    // A call that is tried again is finished with its last try.
    const last = await readLastTries(rows.values(), (some) => ledger.readWithoutContext(some));
    for (const id of ids) {
      const row = last.get(id);
      if (row === undefined || !isFinished(row, clock.now())) return counted;
      countOne(counted.states, row.state);
      if (row.result != null) countOne(counted.results, row.result.status);
      counted.finished += 1;
    }
  }
  return counted;
}

function countOne(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
