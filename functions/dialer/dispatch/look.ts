import type { ValueOf } from "../../../shared/ports/document-kinds.ts";
import type { DuePosition } from "../../../shared/ports/ledger.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { knownRoundTripMs } from "../runtime/round-trips.ts";
import { createAccountNotes } from "./account-notes.ts";
import { createAllowances } from "./allowances.ts";
import { decidedMax, decideRows, writeOff, writtenOffMax } from "./decide-rows.ts";
import { createDueRows } from "./due-rows.ts";
import { createInFlight } from "./in-flight.ts";
import { type DispatchedRow, sendDispatches } from "./send-dispatches.ts";
import { createShares } from "./shares.ts";
import { createView, type Waiting } from "./view.ts";
import { soonMs } from "../record/wake-dispatcher.ts";

/** Maximum passes in which one look finds rows. */
const passesMax = 2;
/** Round trips from a delivery to its request: row, documents, claim, permit, and the permit's lead. */
const roundTripsToRequest = 5;
/** Maximum backlogs of one quick look. */
const quickMax = 200;

/** The rows that a look has chosen, and what it has learnt besides. */
interface Chosen {
  rows: DispatchedRow[];
  /** Rows that must not be dialed now. */
  closed: string[];
  /** True for accounts of which rows had to be left. */
  busy: ReadonlyMap<string, boolean>;
}
const nothing: Chosen = { rows: [], closed: [], busy: new Map() };

/** The looks of one dispatcher, with everything that it keeps between them. */
export interface Looks {
  /** Reads everything that decides about turns, in one round trip. */
  read(): Promise<void>;
  /** Chooses the rows whose turn it is, as it was read. They count as dispatched from now on. */
  choose(): Promise<Chosen>;
  /** Chooses rows of accounts that have completed all that they were allowed. */
  chooseQuick(): Promise<Chosen>;
  /** Dispatches the chosen rows, and writes off those that must not be dialed. */
  send(chosen: Chosen): Promise<void>;
  hasQuickAccounts(): boolean;
  /** True if a row is due, or in flight. */
  isDue(): boolean;
  /** True if nothing is in flight and no row that may go is due soon. */
  isIdle(now: number): boolean;
  /** The facts of each account that outlive this dispatcher. */
  accounts(): ValueOf<"dispatcher">["accounts"];
}

/** @param former the facts of each account that the former dispatcher has left */
export function createLooks(
  former: Readonly<ValueOf<"dispatcher">["accounts"]>,
  deps: DialerDeps,
): Looks {
  const { ledger, documents, clock, dispatcher } = deps;
  const view = createView(deps);
  const inFlight = createInFlight();
  const notes = createAccountNotes(former);
  for (const row of notes.sentBefore()) inFlight.send(row);
  const dueRows = createDueRows(ledger, inFlight, view.documentOf, clock);
  const allowances = createAllowances({ view, inFlight, notes, dueRows }, deps);
  /** The number of rows that could not be dialed at the heads of backlogs, at the last look. */
  let closedAhead: ReadonlyMap<string, number> = new Map();
  /** Accounts that may complete all that they were allowed before the next look, and have rows left. */
  let quick = new Set<string>();

  /** Forgets rows that their deliveries have left as they are: nothing of them is in flight. */
  function forgetLeft(): void {
    const left = new Set(inFlight.forgetLeft(clock.now()));
    for (const key of inFlight.sentIn().keys()) {
      const { breaker, accountBreaker } = view.get(key) ?? {};
      // Deliveries leave rows that were dispatched before a breaker opened.
      const openedAt = [breaker, accountBreaker].flatMap((one) =>
        one === undefined || one.value.state === "closed" ? [] : one.value.openedAt,
      );
      if (openedAt.length > 0 && inFlight.forgetSent(key, Math.max(...openedAt))) left.add(key);
    }
    dueRows.forget(left);
  }

  /** Notes what these accounts have completed since they were dispatched to last, and whether their queue lags. */
  function noteCompleted(accounts: Iterable<string>): void {
    for (const account of accounts) notes.noteCompleted(account, inFlight.takeCompleted(account));
  }

  /** Chooses rows of these backlogs in turns. */
  async function chooseFrom(all: readonly Waiting[], isDecided: boolean): Promise<Chosen> {
    const shares = createShares({
      allowanceOfAccount: allowances.ofAccount,
      allowanceOfBacklog: allowances.ofBacklog,
      isSlow: (key) => view.get(key)?.isSlow === true,
      servedBefore: notes.servedBefore,
      slowRoom: allowances.slowRoom(),
    });
    /** Rows that must not be dialed now, with their backlogs. */
    const closed = new Map<string, string>();
    const rows: DispatchedRow[] = [];
    const mayBeDue = (now: number) => all.filter(({ backlog }) => dueRows.mayBeDue(backlog, now));
    for (let pass = 0; pass < passesMax && rows.length < decidedMax; pass++) {
      const now = clock.now();
      const needs = withClosed(shares.needs(mayBeDue(now)), countBy(closed.values()));
      const unknown = pass === 0 ? unknownHeads(all, needs, now) : [];
      if (needs.size + unknown.length === 0) break;
      const due = await dueRows.read(needs, unknown, now);
      const open = isDecided ? await openAmong(due, closed) : due;
      for (const { account, backlog, row, permitAt } of shares.serve(all, open)) {
        rows.push({ id: row.id, account, permitAt, isSlow: view.get(backlog)?.isSlow === true });
        inFlight.send({ ...row, account, backlog, at: now });
      }
      dueRows.seeAgain(); // the first row that is left is another one now
      if (!shares.hasRoom()) break;
    }
    const result = shares.result(mayBeDue(clock.now()));
    for (const [account, share] of result) notes.noteShare(account, share);
    if (isDecided) closedAhead = countBy(closed.values());
    const busy = new Map([...result].map(([account, { isBusy }]) => [account, isBusy]));
    return { rows, closed: [...closed.keys()], busy };
  }

  /** Returns backlogs whose heads have to be read besides, those that were used last first. */
  function unknownHeads(
    all: readonly Waiting[],
    needs: ReadonlyMap<string, number>,
    now: number,
  ): string[] {
    return all
      .filter(({ key, backlog }) => !needs.has(key) && dueRows.isUnknown(backlog, now))
      .toSorted((one, other) => other.backlog.value.usedAt - one.backlog.value.usedAt)
      .slice(0, dispatcher.headsPerLook)
      .map(({ key }) => key);
  }

  /**
   * Adds rows to be read of backlogs with rows at their heads that must not be dialed: those that this look has found, and
   * twice as many as the last one had, so that a zone that closes does not hold up the calls behind it.
   */
  function withClosed(
    needs: ReadonlyMap<string, number>,
    found: ReadonlyMap<string, number>,
  ): ReadonlyMap<string, number> {
    const behind = [...needs.keys()].filter((key) => closedAhead.has(key) || found.has(key));
    if (behind.length === 0) return needs;
    const needed = [...needs.values()].reduce((sum, count) => sum + count, 0);
    const most = Math.floor(Math.max(0, decidedMax - needed) / behind.length);
    return new Map(
      [...needs].map(([key, count]) => {
        const closed = 2 * (closedAhead.get(key) ?? 0) + (found.get(key) ?? 0);
        return [key, count + Math.min(closed, most, writtenOffMax)];
      }),
    );
  }

  /** Returns those of the rows that may be dialed now. Those that must not be are added to `closed`. */
  async function openAmong(
    due: ReadonlyMap<string, readonly DuePosition[]>,
    closed: Map<string, string>,
  ): Promise<Map<string, DuePosition[]>> {
    const rows = [...due].flatMap(([key, some]) => {
      const of = view.get(key)?.backlog.value;
      if (of === undefined) return [];
      return some.flatMap(({ id }) => (closed.has(id) ? [] : { id, of }));
    });
    const decided = await decideRows(rows, deps);
    for (const [key, some] of due) {
      for (const { id } of some) if (decided.closed.has(id)) closed.set(id, key);
    }
    return new Map(
      [...due].map(([key, some]) => [key, some.filter(({ id }) => decided.open.has(id))]),
    );
  }

  /** Writes which accounts are busy, where it has changed. */
  async function noteBusy(busy: ReadonlyMap<string, boolean>): Promise<void> {
    const changes = [...busy].flatMap(([key, isBusy]) => {
      const current = view.accountDocument(key);
      if ((current?.value.busy ?? false) === isBusy) return [];
      const value = { quick: false, ...current?.value, busy: isBusy };
      const version = deps.random.version();
      const next = { kind: "account" as const, key, version, value, expiresAt: null };
      return [{ next, seen: current?.version ?? null }];
    });
    if (changes.length > 0) await documents.write(changes); // dropped on a conflict: the next look says it again
  }

  const isBlocked = ({ breaker, accountBreaker }: Waiting, by: number) =>
    [breaker, accountBreaker].some((one) => one?.value.state === "open" && one.value.probeAt > by);

  /** Returns the accounts without a pace that may complete their allowance before the next look, with rows left. */
  function quickAmong(all: readonly Waiting[]): Set<string> {
    const now = clock.now();
    return new Set(
      all.flatMap((one) => {
        if (one.isSlow || one.accountBreaker !== undefined || view.hasPace(one)) return [];
        return dueRows.mayBeDue(one.backlog, now) ? one.account : [];
      }),
    );
  }

  return {
    async read() {
      const [isListed] = await Promise.all([view.read(), dueRows.readInFlight()]);
      if (isListed) dueRows.forgetGone();
      forgetLeft();
    },
    async choose() {
      quick = new Set();
      if (view.isSuspended()) return nothing;
      notes.beginLook(view.pausedAccounts());
      const all = view.allowed();
      noteCompleted(new Set([...notes.names(), ...all.map(({ account }) => account)]));
      const chosen = await chooseFrom(all, true);
      quick = quickAmong(all);
      return chosen;
    },
    async chooseQuick() {
      const some = () => view.allowed().filter(({ account }) => quick.has(account));
      const sent = some().flatMap(({ key }) => (inFlight.countIn(key) > 0 ? key : []));
      if (sent.length > 0 && !(await dueRows.readInFlightOf(sent.slice(0, quickMax))))
        return nothing;
      await view.readAgain(some().slice(0, quickMax));
      forgetLeft();
      const done = some().filter(({ account }) => inFlight.countOf(account) === 0);
      noteCompleted(new Set(done.map(({ account }) => account)));
      const chosen = done.length > 0 ? await chooseFrom(done, false) : nothing;
      quick = quickAmong(some());
      return chosen;
    },
    async send({ rows, closed, busy }) {
      const leadMs = roundTripsToRequest * knownRoundTripMs(deps.memory);
      const [messages] = await Promise.all([sendDispatches(rows, leadMs, deps), noteBusy(busy)]);
      for (const ids of messages) inFlight.sendTogether(ids);
      const taken = new Set(messages.flat());
      const refused = rows.flatMap(({ id }) => (taken.has(id) ? [] : id));
      dueRows.forget(inFlight.forget(refused));
      await writeOff(closed.slice(0, writtenOffMax), { endsOnly: false }, deps);
    },
    hasQuickAccounts: () => quick.size > 0,
    isDue() {
      const now = clock.now();
      if (inFlight.sentIn().size > 0) return true;
      return [...view.all()].some(({ backlog }) => dueRows.mayBeDue(backlog, now));
    },
    isIdle(now) {
      if (inFlight.sentIn().size > 0 || view.isReading()) return false;
      const by = now + soonMs;
      return !view
        .allowed()
        .some((one) => dueRows.mayBeDue(one.backlog, by) && !isBlocked(one, by));
    },
    accounts() {
      const paced = new Set(
        [...view.all()].flatMap((one) => (view.hasPace(one) ? one.account : [])),
      );
      return notes.toDocument(inFlight, paced);
    },
  };
}

function countBy(names: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
