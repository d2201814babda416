import { accountOf } from "../../../shared/dial-plan/routes.ts";
import { breakerKeysOf, openBreakers } from "../../../shared/documents/breakers.ts";
import type { DocumentsRead, StoredDocument } from "../../../shared/documents/documents.ts";
import { pauseKeysOf } from "../../../shared/documents/orders.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import { callUpInTurn, inTurn, placesMax, placesOf, sendInOrder } from "./call-up-rows.ts";
import type { DialerDeps } from "../context.ts";
import { isLive } from "../../../shared/schedule/called-up.ts";
import type { Backlog, Turn } from "./marks.ts";
import { calledUpKeyOf, paceKeyOf } from "../../../shared/schedule/account-pace.ts";
import { probeTimesOf } from "../breakers/probes.ts";
import { aheadMsOf, type Read, readRows } from "./read-backlogs.ts";
import { markAndSend } from "./write-backlogs.ts";

/** Maximum called-up rows of an account without a pace; doubled while they are dialed quickly. */
const calledUpMin = 5_000;
const calledUpMost = 40_000;
type AccountValue = StoredDocument<"account">["value"];

/** A backlog as a sweep sees it. */
export interface Seen {
  document: Backlog;
  route: Route | undefined;
}

/** Reads the documents of all accounts and agents of these backlogs. */
export async function readFor(
  seen: readonly Seen[],
  { documents }: DialerDeps,
): Promise<DocumentsRead> {
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

/** Maximum tries: a backlog that a writer has changed meanwhile is read again, with its remaining rows. */
const serveTries = 3;

/**
 * Calls up rows of one account: as many as it has places for before the next sweep, round robin over its
 * backlogs.
 *
 * @param read the documents of its backlogs, see `readFor`
 */
export async function serveAccount(
  account: string,
  all: readonly Seen[],
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  const standing = read.get("account", account);
  const last = standing?.value;
  const reached = { pending: 0, sent: 0, remains: false, servedLast: last?.servedLast ?? "" };
  let left = all;
  let documents = read;
  for (let tries = 1; ; tries++) {
    const served = await serveOnce(account, left, reached.sent, documents, deps);
    if (tries === 1) reached.pending = served.pending;
    reached.sent += served.sent;
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
    rowsRemain: reached.remains || left.length > 0,
    servedLast: reached.servedLast,
    restartedAt: last?.restartedAt ?? 0,
    calledUpMax: nextCalledUpMax(last, reached.pending),
  };
  await writeAccount(account, standing, value, deps);
}

interface Served {
  /** Keys of the backlogs whose rows were called up. */
  marked: Set<string>;
  sent: number;
  /** Number of rows that had been called up before. `remains`: further rows could not be called up. */
  pending: number;
  remains: boolean;
  servedLast: string;
}

/** @param sentBefore number of rows of the account that this sweep has called up already */
async function serveOnce(
  account: string,
  all: readonly Seen[],
  sentBefore: number,
  documents: DocumentsRead,
  deps: DialerDeps,
): Promise<Served> {
  const { clock, settings } = deps;
  const [first] = all;
  const pace = first?.route && accountOf(first.route, settings.plan).pace;
  const now = clock.now();
  const aheadMs = aheadMsOf(deps);
  const standing = documents.get("account", account)?.value;
  const { calledUpMax = calledUpMin, restartedAt = 0, servedLast = "" } = standing ?? {};
  const horizon = { now, restartedAt, isPaced: pace !== undefined };
  const needed = pace === undefined ? calledUpMax : placesMax(pace, deps);
  const reads = await readRows(all, needed, horizon, deps);
  const rows = whenTheyMayGo(reads, all, documents, { now, aheadMs });
  const pending = reads.reduce((sum, one) => sum + one.pending, 0);
  const marks = all.flatMap(({ document }) => document.value.marks);
  const liveMarks = marks.filter((mark) => isLive(mark, horizon));
  const places =
    pace === undefined
      ? { notBefore: now, notAfter: now + aheadMs, arrivalUs: 0 }
      : placesOf(account, pace, documents, liveMarks, deps);
  const most = pace === undefined ? calledUpMax - pending - sentBefore : rows.length;
  const inPlace = inTurn(rows, { pace, servedLast }, places, most);
  const turns = inPlace.turns.map((turn): Turn => ({ ...turn, dueAt: turn.wasDueAt }));
  const changes = await whatWasSeen(reads, now, deps);
  let sent = 0;
  const send = async (mine: readonly Turn[]) => {
    const taken =
      pace === undefined
        ? await sendInOrder(mine, deps)
        : await callUpInTurn(mine, inPlace, account, pace, deps);
    sent = taken.length;
    return taken;
  };
  const marked = await markAndSend(turns, changes, horizon, send, deps);
  return {
    marked,
    sent,
    pending,
    remains: turns.length < rows.length || reads.some(({ isWhole }) => !isWhole),
    servedLast: turns.at(-1)?.backlog ?? servedLast,
  };
}

/** Returns the changes to each backlog document: the time of its next due row, and of this visit. */
async function whatWasSeen(reads: readonly Read[], now: number, { ledger }: DialerDeps) {
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

/** Maximum called-up rows for the next round, by the number of the last sweep's rows that still wait. */
function nextCalledUpMax(account: AccountValue | undefined, pending: number): number {
  if (account?.rowsRemain !== true) return calledUpMin;
  const { calledUpMax } = account;
  if (pending < calledUpMax / 2) return Math.min(calledUpMax * 2, calledUpMost);
  return pending < calledUpMax * 0.75 ? calledUpMax : Math.max(calledUpMin, calledUpMax / 2);
}

/** Times at which rows of a backlog behind an open breaker may go: those of its probes. Undefined: rows go when due. */
function timesOf(
  { value: { agentId } }: Backlog,
  route: Route | undefined,
  documents: DocumentsRead,
  { now, aheadMs }: { now: number; aheadMs: number },
): number[] | undefined {
  const open = route === undefined ? [] : openBreakers(agentId, route, documents);
  return open
    .map((breaker) => probeTimesOf(breaker, now, now + aheadMs))
    .toSorted((one, other) => one.length - other.length)[0];
}

/** Returns the rows with the times from which on they may go: when they are due, or those of a breaker's probes. */
function whenTheyMayGo(
  reads: readonly Read[],
  all: readonly Seen[],
  documents: DocumentsRead,
  window: { now: number; aheadMs: number },
) {
  const routes = new Map(all.map(({ document, route }) => [document.key, route]));
  return reads.flatMap(({ document, fresh }) => {
    const times = timesOf(document, routes.get(document.key), documents, window);
    return fresh.slice(0, times?.length).map(({ id, dueAt }, index) => ({
      id,
      dueAt: Math.max(dueAt, times?.[index] ?? 0),
      wasDueAt: dueAt,
      backlog: document.key,
    }));
  });
}

async function writeAccount(
  account: string,
  standing: StoredDocument<"account"> | undefined,
  value: AccountValue,
  { documents, random }: DialerDeps,
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
