import { pendingKeptMs } from "#shared/events/outbox-rows.ts";
import { toCallId, clientNamed } from "#shared/calls/ids.ts";
import { isCallBackNext } from "#shared/calls/chain.ts";
import { isFinished } from "#shared/calls/states.ts";
import { findReceiverNamed, findReceiver } from "#shared/dial-plan/receivers.ts";
import type { StoredDocument, ValueOf } from "#shared/ports/document-kinds.ts";
import { skipUnreadable } from "#shared/ports/found-documents.ts";
import { readLastTries } from "#shared/ports/last-tries.ts";
import { toDeliverMessages, deliveredKeyOf } from "#shared/events/outbox-ledger.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { finishForClientReceivers } from "./client-receiver-finished.ts";
import { readHealth } from "../events/receiver-health.ts";
import { messageGraceMs, countDeliverable } from "./sweep-events.ts";

type RequestDocument = StoredDocument<"request">;

/** Requests of one page, and maximum requests of one run. */
const pageRequests = 200;
const requestsMax = 60_000;
/** Maximum calls of one read, and of the requests of one step. */
const pageCalls = 1_000;
const stepCalls = 5_000;
/** Calls after which a run leaves the other requests to the next run, because their rows take its CPU. */
const callsMax = 50_000;

/**
 * Tracks the requests that have a document, as their client gets `request.finished`: moves them past calls that are
 * finished already, so that no later run reads those. Counts the calls of finished requests, and sends messages for
 * their events. Requests are read and written by the page, as many small ones may finish each second.
 *
 * @param last `requestsAfter`: the request after which the last run stopped
 * @returns the request after which the next run continues. Null: at the first one
 */
export async function trackRequests(
  { requestsAfter }: Pick<ValueOf<"upkeep">, "requestsAfter">,
  time: { isOver(): boolean },
  deps: RowDeps & Pick<DialerDeps, "eventsQueue" | "sweepSeconds">,
): Promise<Pick<ValueOf<"upkeep">, "requestsAfter">> {
  const { documents, settings } = deps;
  const { events, clientReceivers } = settings.plan;
  if (events === undefined && clientReceivers === false) return { requestsAfter: null };
  let last = requestsAfter;
  let calls = 0;
  for (let seen = 0; seen < requestsMax && !time.isOver(); seen += pageRequests) {
    const page = await documents.list("request", { after: last ?? undefined, limit: pageRequests });
    const readable = skipUnreadable(page, deps);
    await sendFinished(readable, deps);
    for (const step of toSteps(await withFirstFinished(readable, deps))) {
      if (time.isOver() || calls >= callsMax) return { requestsAfter: last };
      await trackStep(step, deps);
      calls += step.reduce((sum, { value }) => sum + value.calls, 0);
      last = step.at(-1)?.key ?? last;
    }
    if (page.length < pageRequests) return { requestsAfter: null };
    last = page.at(-1)?.key ?? null;
  }
  return { requestsAfter: last };
}

/** Splits requests, in order, into steps of a few thousand calls. */
function toSteps(requests: readonly RequestDocument[]): RequestDocument[][] {
  const steps: RequestDocument[][] = [];
  let calls = 0;
  for (const request of requests) {
    calls += request.value.calls;
    if (steps.length === 0 || calls > stepCalls) {
      steps.push([]);
      calls = request.value.calls;
    }
    steps.at(-1)?.push(request);
  }
  return steps;
}

/**
 * Sends messages for finished requests whose events have been pending for some time: for each receiver at most as
 * many as it can take until the next sweep, or one message for the probe if it is down.
 */
async function sendFinished(
  page: readonly RequestDocument[],
  deps: Pick<DialerDeps, "eventsQueue" | "documents" | "clock" | "settings" | "sweepSeconds">,
): Promise<void> {
  const { eventsQueue, documents, clock, settings, sweepSeconds } = deps;
  const now = clock.now();
  const due = page.filter(
    ({ value: { dueAt } }) => dueAt !== undefined && dueAt <= now - messageGraceMs,
  );
  if (due.length === 0) return;
  const { plan } = settings;
  const byReceiver = Map.groupBy(
    due,
    ({ value }) => findReceiver(clientNamed(value.client), plan)?.name ?? "",
  );
  const health = await readHealth([...byReceiver.keys()], documents);
  for (const [name, some] of byReceiver) {
    const receiver = findReceiverNamed(name, plan);
    if (receiver === undefined) continue;
    const most = countDeliverable(receiver, health, { now, sweepSeconds });
    const requests = some.slice(0, most).map(({ key }) => key);
    await eventsQueue.sendMany(toDeliverMessages(name, { requests, swept: true }, now));
  }
}

/** Returns the requests whose next call is finished, by one read of these calls. */
async function withFirstFinished(
  page: readonly RequestDocument[],
  { ledger, clock }: Pick<DialerDeps, "ledger" | "clock">,
): Promise<RequestDocument[]> {
  const now = clock.now();
  const open = page.filter(({ value }) => value.finishedAt === null);
  const idOf = ({ key, value }: RequestDocument) => toCallId(key, value.finished);
  const { rows } = await ledger.read(open.map(idOf));
  const last = await readLastTries(rows, (ids) => ledger.read(ids), false);
  return open.filter((request) => {
    const row = last.get(idOf(request));
    return row !== undefined && isFinished(row, now);
  });
}

/**
 * Moves requests past their finished calls. Once all calls of one are finished, they are counted from the start: a call in
 * review may have been placed since it was passed, and may even wait for its result again.
 */
async function trackStep(
  requests: readonly RequestDocument[],
  deps: RowDeps & Pick<DialerDeps, "eventsQueue">,
): Promise<void> {
  const { documents, clock } = deps;
  const delivered = await readDelivered(requests, deps);
  const open = requests.filter((one) => !delivered.has(one.key));
  const passed = await countFinished(open, ({ value }) => value.finished, deps);
  const isAnew = ({ key, value }: RequestDocument) =>
    value.finished > 0 && passed.get(key)?.finished === value.calls;
  const counted = new Map([
    ...passed,
    ...(await countFinished(open.filter(isAnew), () => 0, deps)),
  ]);
  const now = clock.now();
  const moved = open.flatMap((request) => {
    const { finished = 0, states = {}, results = {}, promised } = counted.get(request.key) ?? {};
    const { value, expiresAt } = request;
    if (finished === value.finished) return [];
    if (finished < value.calls) return { ...request, value: { ...value, finished } };
    return {
      ...request,
      value: {
        ...value,
        finished,
        states,
        results,
        ...(promised === undefined ? {} : { promised }),
        finishedAt: now,
        dueAt: now,
      },
      // Like a row with pending events, it outlives its retention.
      expiresAt: (expiresAt ?? now) + pendingKeptMs,
    };
  });
  const complete = moved.filter(({ value }) => value.finishedAt !== null);
  const told = await finishForClientReceivers(complete, deps);
  const ready = moved.filter(({ key, value }) => value.finishedAt === null || told.has(key));
  const isOver = ({ value }: RequestDocument) =>
    value.finishedAt !== null && value.clientReceiversOnly === true;
  const removed = [...requests.filter(({ key }) => delivered.has(key)), ...ready.filter(isOver)];
  await documents.remove(removed.map(({ kind, key, version }) => ({ kind, key, seen: version })));
  await writeAndSend(
    ready.filter((one) => !isOver(one)),
    deps,
  );
}

/** Writes requests, and sends messages for the events of those that are complete. */
async function writeAndSend(
  requests: readonly RequestDocument[],
  deps: Pick<DialerDeps, "documents" | "eventsQueue" | "random" | "clock" | "settings">,
): Promise<void> {
  const { documents, eventsQueue, random, clock, settings } = deps;
  if (requests.length === 0) return;
  const written = await documents.write(
    requests.map((one) => ({ next: { ...one, version: random.version() }, seen: one.version })),
  );
  const complete = requests.filter(
    ({ value }, index) => written[index] === true && value.finishedAt !== null,
  );
  const messages = [
    ...Map.groupBy(
      complete,
      ({ value }) => findReceiver(clientNamed(value.client), settings.plan)?.name,
    ),
  ].flatMap(([receiver, some]) => {
    const keys = some.map(({ key }) => key);
    return receiver === undefined
      ? []
      : toDeliverMessages(receiver, { requests: keys }, clock.now());
  });
  if (messages.length > 0) await eventsQueue.sendMany(messages);
}

/**
 * Names requests whose document a frozen function has written after its event was delivered. After an operator's
 * replay the event is to be delivered again.
 */
async function readDelivered(
  requests: readonly RequestDocument[],
  { documents }: Pick<DialerDeps, "documents">,
): Promise<Set<string>> {
  const fresh = requests.filter(({ value }) => value.finished === 0);
  if (fresh.length === 0) return new Set();
  const read = await documents.read(fresh.map(({ key }) => deliveredKeyOf(key)));
  const delivered = fresh.filter(({ key, value: { replayedAt = -Infinity } }) => {
    const found = read.get("delivered-request", deliveredKeyOf(key).key);
    return found !== undefined && found.value.finishedAt > replayedAt;
  });
  return new Set(delivered.map(({ key }) => key));
}

/** Counts of a request's calls. `finished`: index of the first unfinished call, or the number of calls. */
type Counted = Pick<RequestDocument["value"], "finished" | "states" | "results" | "promised">;

/** Counts the calls of requests, each from an index up to its first unfinished call. One read for a thousand calls. */
async function countFinished(
  requests: readonly RequestDocument[],
  from: (request: RequestDocument) => number,
  { ledger, clock }: Pick<DialerDeps, "ledger" | "clock">,
): Promise<Map<string, Counted>> {
  const counted = new Map<string, Counted>(
    requests.map((one) => [one.key, { finished: from(one), states: {}, results: {} }]),
  );
  const stopped = new Set<string>();
  const ids = requests.flatMap((request) =>
    Array.from({ length: request.value.calls - from(request) }, (_, n) => ({
      request: request.key,
      id: toCallId(request.key, from(request) + n),
    })),
  );
  for (let start = 0; start < ids.length; start += pageCalls) {
    const some = ids.slice(start, start + pageCalls).filter((one) => !stopped.has(one.request));
    if (some.length === 0) continue;
    const { rows } = await ledger.readWithoutContext(some.map(({ id }) => id));
    // A call that is tried again is finished with its last try, and does not wait for a call-back.
    const last = await readLastTries(rows, (of) => ledger.readWithoutContext(of), false);
    for (const { request, id } of some) {
      const row = last.get(id);
      const counts = counted.get(request);
      if (row === undefined || counts === undefined || !isFinished(row, clock.now())) {
        stopped.add(request);
      } else if (!stopped.has(request)) {
        countOne(counts.states, row.state);
        if (row.result != null) countOne(counts.results, row.result.status);
        if (isCallBackNext(row)) counts.promised = (counts.promised ?? 0) + 1;
        counts.finished += 1;
      }
    }
  }
  return counted;
}

function countOne(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
