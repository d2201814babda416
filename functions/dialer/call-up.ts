import { timeOfId } from "../../shared/calls/ids.ts";
import { accountOf, routeOf } from "../../shared/dial-plan.ts";
import type { DocumentsRead, StoredDocument } from "../../shared/documents/documents.ts";
import type { DuePlace } from "../../shared/ledger/call-ledger.ts";
import { errorForLog } from "../../shared/log.ts";
import { isPaused, pauseKeysOf } from "../../shared/orders.ts";
import { accountNameOf, type Route } from "../../shared/providers/index.ts";
import { breakerKeysOf, openBreakers } from "../../shared/breakers.ts";
import { probeTimesOf } from "./probes.ts";
import type { ReadyDeps } from "./dialer.ts";
import { sendHints } from "./hints.ts";
import { callUpInTurn, type CalledUpPlaces, placesOf, sendInOrder } from "./call-up-rows.ts";
import type { Backlog, Turn } from "./marks.ts";
import { calledUpKeyOf, paceKeyOf } from "./pacing.ts";
import { aheadMs, pageRows, type Read, readRows } from "./read-backlogs.ts";
import { markAndSend, writeBacklogs } from "./write-backlogs.ts";

/** A backlog that was used so recently may have rows that its document does not tell of. */
const usedMs = 45 * 60_000;
/** Every backlog is looked through once an hour, whatever its document says. */
const visitedMs = 3_600_000;
/** Called-up rows that may wait for an account without a pace: doubled as long as they are dialed quickly. */
const calledUpMin = 5_000;
const calledUpMost = 40_000;
/** Documents of backlogs that are listed in one go. */
const pageBacklogs = 500;

type AccountValue = StoredDocument<"account">["value"];

/** The time that a sweep has: it ends in good order before its invocation or its lease does. */
export interface SweepTime {
  isOver(): boolean;
}

/** A backlog as a sweep sees it. */
interface Seen {
  document: Backlog;
  route: Route | undefined;
}

/**
 * Calls up what waits: of every account as many rows as it has places for within the next 75 s, round robin over the
 * backlogs that today's plan sends to it.
 *
 * @param from the backlog after which the last sweep left off
 */
export async function callUp(
  from: string | undefined,
  time: SweepTime,
  deps: ReadyDeps,
): Promise<{ isWhole: boolean; after: string | null }> {
  let after = from;
  let isWhole = true;
  while (!time.isOver()) {
    const page = await deps.documents.list("backlog", { after, limit: pageBacklogs });
    const isServed = await serveAll(
      page.map((document) => ({
        document,
        route: routeOf(document.value.agentId, deps.settings.plan),
      })),
      time,
      deps,
    );
    isWhole &&= isServed;
    after = page.at(-1)?.key ?? after;
    if (page.length < pageBacklogs) return { isWhole, after: null };
  }
  return { isWhole: false, after: after ?? null };
}

/** False: some of the backlogs could not be served, which keeps none of the others from it. */
async function serveAll(all: readonly Seen[], time: SweepTime, deps: ReadyDeps): Promise<boolean> {
  const now = deps.clock.now();
  const visited = all.filter(({ document }) => isVisited(document, now));
  if (visited.length === 0) return true;
  const read = await readFor(visited, deps);
  const accounts = new Map<string, Seen[]>();
  const still: Seen[] = [];
  for (const seen of visited) {
    const { route, document } = seen;
    if (route === undefined || isPaused(document.value.agentId, route, read)) still.push(seen);
    else {
      const account = accountNameOf(route);
      accounts.set(account, [...(accounts.get(account) ?? []), seen]);
    }
  }
  let isServed = true;
  const failed = (error: unknown) => {
    isServed = false;
    deps.log("alarm", "sweep.failed", { error: errorForLog(error) });
  };
  for (const [account, backlogs] of accounts) {
    await serve(account, backlogs, read, deps).catch(failed);
  }
  for (const seen of still) await visitStill(seen, time, deps).catch(failed);
  return isServed;
}

function isVisited({ value }: Backlog, now: number): boolean {
  const { nextDueAt, usedAt, visitedAt } = value;
  return (
    (nextDueAt !== null && nextDueAt <= now + aheadMs) ||
    now - usedAt < usedMs ||
    now - visitedAt >= visitedMs
  );
}

/** The documents of all accounts and agents that these backlogs belong to. */
async function readFor(seen: readonly Seen[], { documents }: ReadyDeps): Promise<DocumentsRead> {
  const keys = seen.flatMap(({ route, document }) => {
    const { agentId } = document.value;
    if (route === undefined) return pauseKeysOf(agentId, route);
    const account = accountNameOf(route);
    return [
      ...pauseKeysOf(agentId, route),
      ...breakerKeysOf(agentId, route),
      paceKeyOf(account),
      calledUpKeyOf(account),
      { kind: "account", key: account } as const,
    ];
  });
  return documents.read([...new Map(keys.map((key) => [`${key.kind} ${key.key}`, key])).values()]);
}

/** A backlog that a writer has changed meanwhile is read again, with the rows that are left then. */
const serveTries = 3;

/** Calls up rows of one account. */
async function serve(
  account: string,
  all: readonly Seen[],
  read: DocumentsRead,
  deps: ReadyDeps,
): Promise<void> {
  const standing = read.get("account", account);
  const last = standing?.value;
  const reached = { pending: 0, remains: false, servedLast: last?.servedLast ?? "" };
  let left = all;
  let documents = read;
  for (let tries = 1; ; tries++) {
    const served = await serveOnce(account, left, documents, deps);
    reached.pending += served.pending;
    reached.remains ||= served.remains;
    reached.servedLast = served.servedLast;
    left = left.filter(({ document }) => !served.marked.has(document.key));
    if (left.length === 0 || tries === serveTries) break;
    documents = await readFor(left, deps);
    const anew = await deps.documents.read(left.map(({ document }) => document));
    left = left.flatMap((seen) => {
      const document = anew.get("backlog", seen.document.key);
      return document === undefined ? [] : { ...seen, document };
    });
  }
  const value: AccountValue = {
    rowsRemain: reached.remains,
    servedLast: reached.servedLast,
    restartedAt: last?.restartedAt ?? 0,
    calledUpMax: nextCalledUpMax(last, reached.pending),
  };
  await writeAccount(account, standing, value, deps);
}

/** @returns the keys of the backlogs whose rows were called up, and what is left of them all */
async function serveOnce(
  account: string,
  all: readonly Seen[],
  documents: DocumentsRead,
  deps: ReadyDeps,
): Promise<{ marked: Set<string>; pending: number; remains: boolean; servedLast: string }> {
  const { clock, settings } = deps;
  const [first] = all;
  const pace = first?.route && accountOf(first.route, settings.plan).pace;
  const now = clock.now();
  const standing = documents.get("account", account)?.value;
  const { calledUpMax = calledUpMin, restartedAt = 0, servedLast = "" } = standing ?? {};
  const horizon = { now, restartedAt, isPaced: pace !== undefined };
  const needed =
    pace === undefined ? calledUpMax : Math.ceil((aheadMs * 1000) / pace.intervalUs) + pace.burst;
  const reads = await readRows(all, needed, horizon, deps);
  const times = new Map(
    all.map(({ document, route }) => [document.key, timesOf(document, route, documents, now)]),
  );
  const order = roundRobin(reads, times, servedLast);
  const pending = reads.reduce((sum, one) => sum + one.pending, 0);
  const places = pace && placesOf(account, pace, order.length, documents, deps);
  const turns = places ? atPlaces(order, places) : atOnce(order, calledUpMax - pending, now);
  const changes = await whatWasSeen(reads, now, deps);
  const send = (mine: readonly Turn[]) =>
    pace && places ? callUpInTurn(mine, account, pace, places, deps) : sendInOrder(mine, deps);
  const marked = await markAndSend(turns, changes, horizon, send, deps);
  return {
    marked,
    pending,
    remains: turns.length < order.length || reads.some(({ isWhole }) => !isWhole),
    servedLast: turns.at(-1)?.backlog ?? servedLast,
  };
}

/** With a pace rows go at the places that their account has. */
function atPlaces(order: readonly Turn[], { moments }: CalledUpPlaces): Turn[] {
  return order
    .slice(0, moments.length)
    .map((turn, index) => ({ ...turn, moment: Math.max(turn.moment, moments[index] ?? 0) }));
}

/** What was seen of each backlog: when it is next to be looked at. */
async function whatWasSeen(reads: readonly Read[], now: number, { ledger }: ReadyDeps) {
  const whole = reads.filter(({ isWhole }) => isWhole);
  const later = await ledger.due({
    backlogs: whole.map(({ document, last }) => ({ key: document.key, after: last })),
    until: Number.MAX_SAFE_INTEGER,
    each: 1,
  });
  const laterDueAt = new Map(whole.map(({ document }, i) => [document.key, later[i]?.[0]?.dueAt]));
  return reads.map(({ document, fresh, pending, skipped, isWhole }) => {
    const hasRows = fresh.length > 0 || pending > 0 || skipped || !isWhole;
    const nextDueAt = hasRows ? now : (laterDueAt.get(document.key) ?? null);
    return { document, value: { ...document.value, nextDueAt, visitedAt: now } };
  });
}

/** What still waits of the last sweep's tells whether more rows may be called up at once. */
function nextCalledUpMax(account: AccountValue | undefined, pending: number): number {
  if (account?.rowsRemain !== true) return calledUpMin;
  return pending < account.calledUpMax / 2
    ? Math.min(account.calledUpMax * 2, calledUpMost)
    : calledUpMin;
}

/** When rows of a backlog behind an open breaker may go: when its probes may. Undefined: as they are due. */
function timesOf(
  { value: { agentId } }: Backlog,
  route: Route | undefined,
  documents: DocumentsRead,
  now: number,
): number[] | undefined {
  const open = route === undefined ? [] : openBreakers(agentId, route, documents);
  return open
    .map((breaker) => probeTimesOf(breaker, now, now + aheadMs))
    .toSorted((one, other) => one.length - other.length)[0];
}

/** Takes one row of each backlog in turn, beginning after the one that was served last. */
function roundRobin(
  backlogs: readonly Read[],
  times: ReadonlyMap<string, readonly number[] | undefined>,
  servedLast: string,
): Turn[] {
  const sorted = backlogs.toSorted((a, b) => (a.document.key < b.document.key ? -1 : 1));
  const start = Math.max(
    0,
    sorted.findIndex(({ document }) => document.key > servedLast),
  );
  const order = [...sorted.slice(start), ...sorted.slice(0, start)].map(({ document, fresh }) => ({
    backlog: document.key,
    fresh: fresh.slice(0, times.get(document.key)?.length),
  }));
  const longest = Math.max(0, ...order.map(({ fresh }) => fresh.length));
  return Array.from({ length: longest }, (_, index) =>
    order.flatMap(({ backlog, fresh }) => {
      const place = fresh[index];
      const moment = Math.max(place?.dueAt ?? 0, times.get(backlog)?.[index] ?? 0);
      return place === undefined ? [] : { ...place, moment, backlog };
    }),
  ).flat();
}

/** Without a pace rows go when they are due, as far as there is room. */
function atOnce(order: readonly Turn[], room: number, now: number): Turn[] {
  return order
    .slice(0, Math.max(0, room))
    .map((turn) => ({ ...turn, moment: Math.max(now, turn.moment) }));
}

/** A paused backlog, or one without a route, is looked at once an hour: what is past its time is called up. */
async function visitStill(
  { document, route }: Seen,
  time: SweepTime,
  deps: ReadyDeps,
): Promise<void> {
  const { clock, settings, ledger, log } = deps;
  const now = clock.now();
  if (now - document.value.visitedAt < visitedMs) {
    if (document.value.nextDueAt !== null) return;
    // Rows may have been written since it was seen empty: a resume must find them at once.
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

async function writeAccount(
  account: string,
  standing: StoredDocument<"account"> | undefined,
  value: AccountValue,
  { documents, random }: ReadyDeps,
): Promise<void> {
  const next = {
    kind: "account" as const,
    key: account,
    version: random.version(),
    value: { ...standing?.value, ...value },
    expiresAt: null,
  };
  if (JSON.stringify(standing?.value) === JSON.stringify(next.value)) return;
  await documents.write([{ next, seen: standing?.version ?? null }]);
}
