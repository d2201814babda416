import { roundTripsToRequest } from "#shared/lib/timing.ts";
import type { ValueOf } from "#shared/ports/document-kinds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { knownRoundTripMs } from "../runtime/time-limits.ts";
import { pollLiveMs, sendPollsOfLive } from "../record/live-calls.ts";
import { soonMs } from "../record/wake-dispatcher.ts";
import { chooseRows, type Chosen, type ChosenRow, countBy, nothing } from "./choose-rows.ts";
import { writeOff, writtenOffMax } from "./decide-rows.ts";
import type { Looks } from "./looks.ts";
import { sendDispatches } from "./send-dispatches.ts";
import type { Waiting } from "./view.ts";
import { countedKeys, isPaced, rests } from "#shared/rules/gates.ts";

/** Maximum backlogs of one quick look. */
const quickMax = 200;

/** Reads everything that turns depend on, in one round trip. */
export async function readAll(looks: Looks, deps: Pick<DialerDeps, "clock">): Promise<void> {
  const { view, dueRows } = looks;
  const [isListed] = await Promise.all([view.read(), dueRows.readInFlight()]);
  if (isListed) dueRows.forgetGone();
  forgetLeft(looks, deps);
}

/** Forgets rows that their deliveries have left unchanged, as they are not in flight. */
function forgetLeft(
  { view, dueRows, inFlight }: Looks,
  { clock }: Pick<DialerDeps, "clock">,
): void {
  dueRows.forget(inFlight.forgetLeft((row) => view.refusesUntil(row.backlog), clock.now()));
}

/** Chooses the rows whose turn it is. They count as dispatched from now on. */
export async function choose(looks: Looks, deps: DialerDeps): Promise<Chosen> {
  const { view, notes } = looks;
  looks.quickAccounts = new Set();
  if (view.isHalted()) return { ...nothing, left: [] };
  notes.beginLook(view.stoppedAccounts());
  const backlogs = view.allowed();
  const accounts = new Set([...notes.names(), ...backlogs.map(({ account }) => account)]);
  noteCompleted(accounts, looks, deps);
  const chosen = await chooseRows(backlogs, { looks, decidesFirst: true }, deps);
  looks.closedAhead = countBy(chosen.closed.values());
  looks.quickAccounts = quickAmong(backlogs, looks, deps);
  return chosen;
}

/**
 * Chooses rows of accounts that have completed half of their allowance, whose deliveries would otherwise be idle
 * until the next look. It reads only the calls in flight of these accounts, and uses the documents of the last look.
 */
export async function chooseQuick(looks: Looks, deps: DialerDeps): Promise<Chosen> {
  const { view, inFlight, dueRows, notes, quickAccounts } = looks;
  const backlogs = view.allowed().filter((one) => quickAccounts.has(one.account));
  const sent = backlogs.flatMap(({ key }) => (inFlight.countIn(key) > 0 ? key : []));
  if (sent.length > 0 && !(await dueRows.readInFlightOf(sent.slice(0, quickMax)))) return nothing;
  forgetLeft(looks, deps);
  const done = backlogs.filter(
    ({ account }) => inFlight.countOf(account) <= notes.mostOf(account) / 2,
  );
  noteCompleted(new Set(done.map(({ account }) => account)), looks, deps);
  const chosen =
    done.length > 0 ? await chooseRows(done, { looks, decidesFirst: false }, deps) : nothing;
  looks.quickAccounts = quickAmong(backlogs, looks, deps);
  return chosen;
}

/** Dispatches the chosen rows, notes backlogs that wait though they need not, and writes off those that must not be dialed. */
export async function send(
  { rows, closed, busy, full, left }: Chosen,
  looks: Looks,
  deps: DialerDeps,
): Promise<void> {
  const { inFlight, dueRows } = looks;
  const leadMs = roundTripsToRequest * knownRoundTripMs(deps.memory);
  const [messages] = await Promise.all([
    sendDispatches(rows, leadMs, deps),
    writeBusy(busy, looks, deps),
    pollFull(full, looks, deps),
  ]);
  for (const ids of messages) inFlight.sendTogether(ids);
  const taken = new Set(messages.flat());
  const refused = rows.flatMap(({ id }) => (taken.has(id) ? [] : id));
  if (left !== undefined) noteWaits({ left, rows, taken }, looks, deps);
  dueRows.forget(inFlight.forget(refused));
  await writeOff([...closed.keys()].slice(0, writtenOffMax), { endsOnly: false }, deps);
}

/** Notes the backlogs of which a look has dispatched nothing though it might have. */
function noteWaits(
  { left, rows, taken }: { left: readonly string[]; rows: ChosenRow[]; taken: ReadonlySet<string> },
  { waits, view, dueRows }: Looks,
  { clock }: Pick<DialerDeps, "clock">,
): void {
  const served = new Set(rows.flatMap(({ id, backlog }) => (taken.has(id) ? backlog : [])));
  const unsent = rows.flatMap(({ backlog }) => (served.has(backlog) ? [] : backlog));
  const isUnknown = (key: string) => {
    const document = view.documentOf(key);
    if (served.has(key) || document === undefined) return false;
    return dueRows.isUnknown(document, clock.now());
  };
  waits.note({ left: [...left, ...unsent], isUnknown }, clock.now());
}

/** True if a row is due, or in flight. */
export function isDue({ view, inFlight, dueRows }: Looks, now: number): boolean {
  if (inFlight.sentIn().size > 0) return true;
  return [...view.all()].some(({ backlog }) => dueRows.mayBeDue(backlog, now));
}

/** True if nothing is in flight and no row that may go is due soon. */
export function isIdle({ view, inFlight, dueRows }: Looks, now: number): boolean {
  if (inFlight.sentIn().size > 0 || view.isReading()) return false;
  const by = now + soonMs;
  const facts = { documents: view.documents(), now };
  return !view.allowed().some(
    (one) =>
      dueRows.mayBeDue(one.backlog, by) &&
      // Neither breakers nor limits of a day keep all its calls waiting until then.
      rests.every((until) => until({ ...one, account: one.target.account }, facts) <= by),
  );
}

/** The facts that outlive a dispatcher, beside its lease. */
export type Outliving = Pick<ValueOf<"dispatcher">, "accounts" | "waits"> &
  Partial<Pick<ValueOf<"dispatcher">, "lookedAt">>;

/** Returns the facts that outlive this dispatcher. */
export function toOutliving({ view, notes, inFlight, waits, lookedAt }: Looks): Outliving {
  const paced = [...view.all()].flatMap((one) => (isPaced(one.target.account) ? one.account : []));
  return {
    accounts: notes.toDocument(inFlight, new Set(paced)),
    waits: waits.toDocument(),
    ...(lookedAt === undefined ? {} : { lookedAt }),
  };
}

/** Records what these accounts have completed since the last look at them, and if their queue lags. */
function noteCompleted(
  accounts: Iterable<string>,
  { view, notes, inFlight }: Looks,
  { clock }: Pick<DialerDeps, "clock">,
): void {
  const at = clock.now();
  const troubled = new Set([...view.all()].flatMap((one) => (hasBreaker(one) ? one.account : [])));
  for (const account of accounts) {
    const isTroubled = troubled.has(account);
    notes.noteCompleted(account, { ...inFlight.takeCompleted(account), at, isTroubled });
  }
}

/** Returns the accounts without a pace that have rows left and may complete their allowance before the next look. */
function quickAmong(
  backlogs: readonly Waiting[],
  { dueRows }: Looks,
  { clock }: Pick<DialerDeps, "clock">,
): Set<string> {
  const now = clock.now();
  return new Set(
    backlogs.flatMap((one) => {
      if (one.isSlow || one.accountBreaker !== undefined) return [];
      // The last look alone knows how much is left of its limits.
      if (countedKeys.some((keys) => keys(one, now).length > 0)) return [];
      return dueRows.mayBeDue(one.backlog, now) ? one.account : [];
    }),
  );
}

/** True if a breaker of a backlog, or of its account, is open or half-open. */
function hasBreaker({ breaker, accountBreaker }: Waiting): boolean {
  return [breaker, accountBreaker].some((one) => one !== undefined && one.value.state !== "closed");
}

/** Has live calls polled if other calls wait for them to end. */
async function pollFull(
  full: readonly string[],
  { view, polledAt }: Looks,
  deps: Pick<DialerDeps, "clock" | "eventsQueue">,
): Promise<void> {
  const now = deps.clock.now();
  const due = new Set(full.filter((one) => now - (polledAt.get(one) ?? -Infinity) >= pollLiveMs));
  if (due.size === 0) return;
  for (const account of due) polledAt.set(account, now);
  const routes = new Map([...view.all()].map(({ account, target }) => [account, target.route]));
  const accounts = [...routes].flatMap(([account, route]) =>
    due.has(account) ? { account, route } : [],
  );
  await sendPollsOfLive(accounts, deps);
}

/** Writes changes of `busy`. */
async function writeBusy(
  busy: ReadonlyMap<string, boolean>,
  { view }: Looks,
  { documents, random }: Pick<DialerDeps, "documents" | "random">,
): Promise<void> {
  const changes = [...busy].flatMap(([key, isBusy]) => {
    const current = view.accountDocument(key);
    if ((current?.value.busy ?? false) === isBusy) return [];
    const value = { quick: false, ...current?.value, busy: isBusy };
    const next = { kind: "account" as const, key, version: random.version(), value };
    return [{ next: { ...next, expiresAt: null }, seen: current?.version ?? null }];
  });
  if (changes.length > 0) await documents.write(changes); // dropped on a conflict, as the next look writes it again
}
