import { untoldKeptMs } from "../../../shared/calls/events.ts";
import { callIdOf } from "../../../shared/calls/ids.ts";
import { isOver } from "../../../shared/calls/over.ts";
import { receiverNamed, receiverOf } from "../../../shared/dial-plan/receivers.ts";
import type { StoredDocument } from "../../../shared/documents/documents.ts";
import { tellsOf, toldKeyOf } from "../../../shared/ledger/telling-ledger.ts";
import type { DialerDeps } from "../context.ts";
import { messageGraceMs, mostFor, readBreakers } from "./send-tells.ts";

type RequestDocument = StoredDocument<"request">;

/** Requests of one list, and maximum requests of one sweep. */
const pageRequests = 200;
const requestsMax = 2_000;
/** Maximum calls by which a request is carried forward at once. */
const callsAtOnce = 1_000;

/**
 * Carries the requests forward whose client is told once all of their calls are over: past the calls that are over
 * already, so that no call is counted twice. Has those told that are finished.
 *
 * @param after the request after which the former sweep's turn ended
 * @returns the request after which the next sweep goes on; null: from the first one
 */
export async function followRequests(
  after: string | null,
  time: { isOver(): boolean },
  deps: DialerDeps,
): Promise<string | null> {
  const { documents, settings } = deps;
  if (settings.plan.events === undefined) return null;
  let last = after;
  for (let seen = 0; seen < requestsMax; seen += pageRequests) {
    const query = { ...(last === null ? {} : { after: last }), limit: pageRequests };
    const page = await documents.list("request", query);
    await sendFinished(page, deps);
    for (const request of await withFirstOver(page, deps)) {
      if (time.isOver()) return last;
      await carryOn(request, time, deps);
    }
    if (page.length < pageRequests) return null;
    last = page.at(-1)?.key ?? null;
  }
  return last;
}

/**
 * Sends messages for the requests that are finished and were to be told some time ago: of a page for each receiver at
 * most as many as it takes until the next sweep, and one where it is the probe of an open circuit breaker.
 */
async function sendFinished(page: readonly RequestDocument[], deps: DialerDeps): Promise<void> {
  const { eventsQueue, documents, clock, settings, sweepSeconds } = deps;
  const now = clock.now();
  const due = page.filter(
    ({ value: { dueAt } }) => dueAt !== undefined && dueAt <= now - messageGraceMs,
  );
  if (due.length === 0) return;
  const { plan } = settings;
  const byReceiver = Map.groupBy(due, ({ value }) => receiverOf(value.client, plan)?.name ?? "");
  const breakers = await readBreakers([...byReceiver.keys()], documents);
  for (const [name, some] of byReceiver) {
    const receiver = receiverNamed(name, plan);
    if (receiver === undefined) continue;
    const most = mostFor(receiver, breakers, now, sweepSeconds);
    const requests = some.slice(0, most).map(({ key }) => key);
    await eventsQueue.sendMany(tellsOf(name, { requests, swept: true }, now));
  }
}

/** Returns the requests whose next call is over, by one read of these calls. */
async function withFirstOver(
  page: readonly RequestDocument[],
  { ledger, clock }: DialerDeps,
): Promise<RequestDocument[]> {
  const now = clock.now();
  const open = page.filter(({ value }) => value.finishedAt === null);
  const idOf = ({ key, value }: RequestDocument) => callIdOf(key, value.over);
  const { rows } = await ledger.read(open.map(idOf));
  return open.filter((request) => {
    const row = rows.get(idOf(request));
    return row !== undefined && isOver(row, now);
  });
}

/** Carries one request forward past its calls that are over, a thousand at a time. */
async function carryOn(
  request: RequestDocument,
  time: { isOver(): boolean },
  deps: DialerDeps,
): Promise<void> {
  const { documents, eventsQueue, random, clock, settings } = deps;
  let standing = request;
  if (standing.value.over === 0 && (await isToldAlready(standing, deps))) {
    await documents.remove([{ kind: "request", key: standing.key, seen: standing.version }]);
    return;
  }
  while (standing.value.finishedAt === null && !time.isOver()) {
    const value = await carried(standing, deps);
    if (value.over === standing.value.over) return;
    const isFinished = value.over === value.calls;
    const now = clock.now();
    const next: RequestDocument = {
      ...standing,
      version: random.version(),
      value: isFinished ? { ...value, finishedAt: now, dueAt: now } : value,
      // Like rows with events to tell, it outlives its retention.
      expiresAt: isFinished ? (standing.expiresAt ?? now) + untoldKeptMs : standing.expiresAt,
    };
    const [isWritten] = await documents.write([{ next, seen: standing.version }]);
    if (isWritten !== true) return;
    standing = next;
  }
  const receiver = receiverOf(standing.value.client, settings.plan);
  if (standing.value.finishedAt === null || receiver === undefined) return;
  const tells = tellsOf(receiver.name, { requests: [standing.key] }, clock.now());
  await eventsQueue.sendMany(tells);
}

/**
 * True if a request was told before a function that had stood still wrote its document anew. An operator may have had it
 * written anew, too: then it is told once more.
 */
async function isToldAlready(
  { key: request, value: { replayedAt = -Infinity } }: RequestDocument,
  { documents }: DialerDeps,
): Promise<boolean> {
  const key = toldKeyOf(request);
  const told = (await documents.read([key])).get(key.kind, key.key);
  return told !== undefined && told.value.finishedAt > replayedAt;
}

/** Counts the next calls of a request up to the first one that is not over. */
async function carried(
  { key, value }: RequestDocument,
  { ledger, clock }: DialerDeps,
): Promise<RequestDocument["value"]> {
  const { over: from, calls } = value;
  const end = Math.min(calls, from + callsAtOnce);
  const ids = Array.from({ length: end - from }, (_, n) => callIdOf(key, from + n));
  const { rows } = await ledger.read(ids);
  const states = { ...value.states };
  const results = { ...value.results };
  let over = from;
  for (const id of ids) {
    const row = rows.get(id);
    if (row === undefined || !isOver(row, clock.now())) break;
    states[row.state] = (states[row.state] ?? 0) + 1;
    const status = row.result?.status;
    if (status !== undefined) results[status] = (results[status] ?? 0) + 1;
    over += 1;
  }
  return { ...value, over, states, results };
}
