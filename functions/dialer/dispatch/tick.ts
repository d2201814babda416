import { roundTripsToRequest } from "#shared/lib/timing.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { knownRoundTripMs } from "../runtime/time-limits.ts";
import { pollLiveMs, sendPollsOfLive } from "../record/live-calls.ts";
import { soonMs } from "../record/wake-dispatcher.ts";
import { chooseRows, type Chosen, type ChosenRow, nothing, unknownHeads } from "./choose-rows.ts";
import { writeOff, writtenOffMax } from "./decide-rows.ts";
import type { DispatcherState } from "./dispatcher-state.ts";
import { sendDispatches } from "./send-dispatches.ts";
import type { Waiting } from "./snapshot.ts";
import { countedKeys, isAccountTroubled, isPaced, isTroubled, rests } from "#shared/rules/gates.ts";

/** Maximum backlogs of one quick tick. */
const quickMax = 200;

/** Reads everything that turns depend on, in one round trip. */
export async function readAll(
  state: DispatcherState,
  deps: Pick<DialerDeps, "clock">,
): Promise<void> {
  const { snapshot, dueRows } = state;
  const [isListed] = await Promise.all([snapshot.read(), dueRows.readInFlight()]);
  if (isListed) dueRows.forgetGone();
  forgetLeft(state, deps);
}

/** Reads the same, and the heads of backlogs to which rows may have been written since they were read. */
export async function readAgain(
  state: DispatcherState,
  deps: Pick<DialerDeps, "clock" | "dispatcher">,
): Promise<void> {
  const { snapshot, dueRows } = state;
  const { clock, dispatcher } = deps;
  await readAll(state, deps);
  const now = clock.now();
  const unknown = unknownHeads(snapshot.allowed(), { needs: new Map(), now, dueRows });
  await dueRows.read(new Map(), unknown.slice(0, dispatcher.headsPerLook), now);
}

/** Forgets rows that their deliveries have left unchanged, as they are not in flight. */
function forgetLeft(
  { snapshot, dueRows, inFlight }: DispatcherState,
  { clock }: Pick<DialerDeps, "clock">,
): void {
  dueRows.forget(inFlight.forgetLeft((row) => snapshot.refusesUntil(row.backlog), clock.now()));
}

/** Chooses the rows whose turn it is. They count as dispatched from now on. */
export async function choose(
  state: DispatcherState,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "dispatcher">,
): Promise<Chosen> {
  const { snapshot, records } = state;
  state.quickAccounts = new Set();
  if (snapshot.isHalted()) return { ...nothing, left: [] };
  records.beginTick(snapshot.stoppedAccounts());
  const backlogs = snapshot.allowed();
  const accounts = new Set([...records.names(), ...backlogs.map(({ account }) => account)]);
  recordCompleted(accounts, state, deps);
  const chosen = await chooseRows(backlogs, { state, decidesFirst: true }, deps);
  state.quickAccounts = quickAmong(backlogs, state, deps);
  return chosen;
}

/**
 * Chooses rows of accounts that have completed half of their allowance, whose deliveries would otherwise be idle
 * until the next tick. It reads only the calls in flight of these accounts, and uses the documents of the last tick.
 */
export async function chooseQuick(
  state: DispatcherState,
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "dispatcher">,
): Promise<Chosen> {
  const { snapshot, inFlight, dueRows, records, quickAccounts } = state;
  const backlogs = snapshot.allowed().filter((one) => quickAccounts.has(one.account));
  const sent = backlogs.flatMap(({ key }) => (inFlight.countIn(key) > 0 ? key : []));
  if (sent.length > 0 && !(await dueRows.readInFlightOf(sent.slice(0, quickMax)))) return nothing;
  forgetLeft(state, deps);
  const done = backlogs.filter(
    ({ account }) => inFlight.countOf(account) <= records.mostOf(account) / 2,
  );
  recordCompleted(new Set(done.map(({ account }) => account)), state, deps);
  const chosen =
    done.length > 0 ? await chooseRows(done, { state, decidesFirst: false }, deps) : nothing;
  state.quickAccounts = quickAmong(backlogs, state, deps);
  return chosen;
}

/** Dispatches the chosen rows, and notes backlogs that wait without a reason. */
export async function send(
  { rows, busy, full, left }: Chosen,
  state: DispatcherState,
  deps: DialerDeps,
): Promise<void> {
  const { inFlight, dueRows } = state;
  const leadMs = roundTripsToRequest * knownRoundTripMs(deps.memory);
  const [messages] = await Promise.all([
    sendDispatches(rows, leadMs, deps),
    writeBusy(busy, state, deps),
    pollFull(full, state, deps),
  ]);
  for (const ids of messages) inFlight.sendTogether(ids);
  const taken = new Set(messages.flat());
  const refused = rows.flatMap(({ id }) => (taken.has(id) ? [] : id));
  if (left !== undefined) recordWaits({ left, rows, taken }, state, deps);
  dueRows.forget(inFlight.forget(refused));
}

/** Writes rows that must not be dialed. Only a dispatcher that has just beaten may: another one may have a newer plan. */
export async function writeClosed({ closed }: Chosen, deps: DialerDeps): Promise<void> {
  await writeOff([...closed.keys()].slice(0, writtenOffMax), { endsOnly: false }, deps);
}

/**
 * Notes the backlogs of which a tick has dispatched nothing though it might have, and those whose dispatched rows stay:
 * a queue may take messages and deliver none. While no row leaves at all, none is struck off that still has due rows.
 */
function recordWaits(
  { left, rows, taken }: { left: readonly string[]; rows: ChosenRow[]; taken: ReadonlySet<string> },
  { waits, snapshot, dueRows, inFlight }: DispatcherState,
  { clock }: Pick<DialerDeps, "clock">,
): void {
  const now = clock.now();
  const moved = inFlight.takeMoved();
  const sent = inFlight.sentIn();
  const unsent = rows.flatMap(({ id, backlog }) => (taken.has(id) ? [] : backlog));
  const stays = snapshot.isHalted() ? [] : snapshot.allowed().filter(({ key }) => sent.has(key));
  const isNothingMoved = moved.size === 0 && sent.size > 0;
  const isUnknown = (key: string) => {
    const document = snapshot.documentOf(key);
    if (moved.has(key) || document === undefined) return false;
    if (dueRows.isUnknown(document, now)) return true;
    const isAllowed = snapshot.get(key)?.isStopped === false;
    return isNothingMoved && isAllowed && dueRows.mayBeDue(document, now);
  };
  const waiting = [...left, ...unsent, ...stays.map(({ key }) => key)];
  waits.note({ left: waiting.filter((key) => !moved.has(key)), isUnknown }, now);
}

/** True if a row is due, or in flight. */
export function isDue({ snapshot, inFlight, dueRows }: DispatcherState, now: number): boolean {
  if (inFlight.sentIn().size > 0) return true;
  return [...snapshot.all()].some(({ backlog }) => dueRows.mayBeDue(backlog, now));
}

/** True if nothing is in flight and no row that may go is due soon. */
export function isIdle({ snapshot, inFlight, dueRows }: DispatcherState, now: number): boolean {
  if (inFlight.sentIn().size > 0 || snapshot.isReading()) return false;
  const by = now + soonMs;
  const facts = { documents: snapshot.documents(), now };
  return !snapshot.allowed().some(
    (one) =>
      dueRows.mayBeDue(one.backlog, by) &&
      // Neither breakers nor limits of a day keep all its calls waiting until then.
      rests.every((until) => until(one.target, facts) <= by),
  );
}

/** The facts that outlive a dispatcher, beside its lease. */
export type Handover = Pick<ValueOf<"dispatcher">, "accounts" | "waits"> &
  Partial<Pick<ValueOf<"dispatcher">, "tickedAt">>;

/** Returns the facts that outlive this dispatcher. */
export function toHandover({
  snapshot,
  records,
  inFlight,
  waits,
  tickedAt,
}: DispatcherState): Handover {
  const all = [...snapshot.all()];
  const paced = new Set(all.flatMap((one) => (isPaced(one.target.account) ? one.account : [])));
  const waiting = snapshot.isReading() ? undefined : new Set(all.map(({ account }) => account));
  return {
    accounts: records.toDocument(inFlight, { paced, waiting }),
    waits: waits.toDocument(),
    ...(tickedAt === undefined ? {} : { tickedAt }),
  };
}

/** Records what these accounts have completed since the last tick, and if their queue lags. */
function recordCompleted(
  accounts: Iterable<string>,
  { snapshot, records, inFlight }: DispatcherState,
  { clock }: Pick<DialerDeps, "clock">,
): void {
  const at = clock.now();
  const read = { documents: snapshot.documents() };
  const troubled = new Set(
    [...snapshot.all()].flatMap((one) => (isTroubled(one.target, read) ? one.account : [])),
  );
  for (const account of accounts) {
    const seen = { ...inFlight.takeCompleted(account), at, isTroubled: troubled.has(account) };
    records.recordCompleted(account, seen);
  }
}

/** Returns the accounts without a pace that have rows left and may complete their allowance before the next tick. */
function quickAmong(
  backlogs: readonly Waiting[],
  { dueRows, snapshot }: DispatcherState,
  { clock }: Pick<DialerDeps, "clock">,
): Set<string> {
  const now = clock.now();
  const read = { documents: snapshot.documents() };
  return new Set(
    backlogs.flatMap((one) => {
      if (one.isSlow || isAccountTroubled(one.target, read)) return [];
      // The last tick alone knows how much is left of its limits.
      if (countedKeys.some((keys) => keys(one, now).length > 0)) return [];
      return dueRows.mayBeDue(one.backlog, now) ? one.account : [];
    }),
  );
}

/** Has live calls polled if other calls wait for them to end. */
async function pollFull(
  full: readonly string[],
  { snapshot, polledAt }: DispatcherState,
  deps: Pick<DialerDeps, "clock" | "eventsQueue">,
): Promise<void> {
  const now = deps.clock.now();
  const due = new Set(full.filter((one) => now - (polledAt.get(one) ?? -Infinity) >= pollLiveMs));
  if (due.size === 0) return;
  for (const account of due) polledAt.set(account, now);
  const routes = new Map([...snapshot.all()].map(({ account, target }) => [account, target.route]));
  const accounts = [...routes].flatMap(([account, route]) =>
    due.has(account) ? { account, route } : [],
  );
  await sendPollsOfLive(accounts, deps);
}

/** Writes changes of `busy`. */
async function writeBusy(
  busy: ReadonlyMap<string, boolean>,
  { snapshot }: DispatcherState,
  { documents, random }: Pick<DialerDeps, "documents" | "random">,
): Promise<void> {
  const changes = [...busy].flatMap(([key, isBusy]) => {
    const current = snapshot.accountDocument(key);
    if ((current?.value.busy ?? false) === isBusy) return [];
    const value = { ...current?.value, busy: isBusy };
    const next = { kind: "account" as const, key, version: random.version(), value };
    return [{ next: { ...next, expiresAt: null }, seen: current?.version ?? null }];
  });
  if (changes.length > 0) await documents.write(changes); // dropped on a conflict, as the next tick writes it again
}
