import type { StoredDocument } from "../../../shared/ports/documents.ts";
import { dispatcherKey } from "../../../shared/policy/dispatcher.ts";
import { errorForLog } from "../../../shared/lib/log.ts";
import type { DialerDeps } from "../runtime/context.ts";
import { withPortLimits } from "../runtime/time-limits.ts";
import { createLooks, type Looks } from "./look.ts";
import { isBeating } from "../record/wake-dispatcher.ts";

/** Interval between looks, and the longest one where queries have to last. */
const lookEveryMs = 2_000;
const lookEveryMsMax = 5_000;
/** Interval of the looks at accounts that have completed all that they were allowed. */
const quickLookMs = 250;
/** Interval of beats while nothing is due. */
const idleBeatMs = 5_000;
/** Time before the end of the invocation at which the loop ends. */
const endMarginMs = 10_000;
/** Tries to take over: the older dispatcher beats meanwhile. */
const takeOverTries = 10;
/** Queries of one look and of one quick look, at most. */
const lookQueries = 14;
const quickLookQueries = 4;

type Dispatcher = StoredDocument<"dispatcher">;

/**
 * Runs the one loop that decides whose turn it is: every two seconds it looks at what is due, decides it and hands it out
 * in turns. It ends at once if another dispatcher beats, and once another one has taken over. Overlap is harmless, as
 * dispatches are hints. Never throws.
 *
 * @param deadline end of the invocation, in milliseconds since the epoch
 */
export async function dispatch(deps: DialerDeps, deadline: number): Promise<void> {
  const counted = countQueries(withPortLimits(deps));
  try {
    const own = await takeOver(counted.deps);
    if (own !== undefined) await runLoop(own, counted, deadline);
  } catch (error) {
    deps.log("alarm", "dispatch.failed", { error: errorForLog(error) });
  }
}

/** Takes over from a dispatcher that does not beat or has run its time. Undefined: it goes on. */
async function takeOver(deps: DialerDeps): Promise<Dispatcher | undefined> {
  const { documents, clock, random, dispatcher } = deps;
  for (let tries = 0; tries < takeOverTries; tries++) {
    const current = (await documents.read([dispatcherKey])).get("dispatcher", dispatcherKey.key);
    const now = clock.now();
    const hasTime = current !== undefined && now - current.value.since < dispatcher.lifeMs;
    if (hasTime && isBeating(current.value, now)) return undefined;
    const version = random.version();
    const value = { accounts: {}, ...current?.value, holder: version, since: now, beatAt: now };
    const next: Dispatcher = { ...dispatcherKey, version, value, expiresAt: null };
    const [isMine] = await documents.write([{ next, seen: current?.version ?? null }]);
    if (isMine === true) return next;
  }
  return undefined;
}

async function runLoop(
  first: Dispatcher,
  { deps, queries }: ReturnType<typeof countQueries>,
  deadline: number,
): Promise<void> {
  const { clock, log, dispatcher } = deps;
  const looks = createLooks(first.value.accounts, deps);
  let own = first;
  const endAt = deadline - endMarginMs;
  for (;;) {
    const begunAt = clock.now();
    try {
      await looks.read();
      const chosen = await looks.choose();
      // The document tells the next dispatcher of the rows that were chosen.
      const mustBeat = looks.isDue() || begunAt - own.value.beatAt >= idleBeatMs;
      const [beaten] = await Promise.all([
        mustBeat ? beat(own, looks, deps) : own,
        looks.send(chosen),
      ]);
      if (beaten === undefined) return; // another one has taken over
      own = beaten;
    } catch (error) {
      log("alarm", "dispatch.failed", { error: errorForLog(error) });
    }
    const left = dispatcher.queriesMax - queries();
    if (clock.now() >= endAt || left < lookQueries) break;
    if (dispatcher.endsIdle && looks.isIdle(clock.now())) {
      if (await endIdle(own, looks, deps)) return;
      const again = await takeOver(deps);
      if (again === undefined) return;
      own = again;
      continue;
    }
    const nextAt = begunAt + lookMsFor(left, first.value.since + dispatcher.lifeMs - begunAt);
    await quickLooks(looks, nextAt, () => dispatcher.queriesMax - queries(), deps);
    await clock.sleep(nextAt - clock.now());
  }
  // Without a holder the next one need not wait for this one's last beat to grow old.
  await release(own, looks, deps).catch(() => undefined);
}

/** Returns the interval of looks by which the queries that are left last for the time that is left. */
function lookMsFor(queriesLeft: number, msLeft: number): number {
  const looksLeft = Math.max(1, Math.floor(queriesLeft / lookQueries));
  return Math.min(lookEveryMsMax, Math.max(lookEveryMs, msLeft / looksLeft));
}

/** Looks again at accounts that have completed all that they were allowed, until the next look. */
async function quickLooks(
  looks: Looks,
  until: number,
  queriesLeft: () => number,
  { clock, dispatcher, log }: DialerDeps,
): Promise<void> {
  // The next looks need queries too.
  const reserved = dispatcher.queriesMax / 2;
  while (looks.hasQuickAccounts() && clock.now() + quickLookMs < until) {
    if (Number.isFinite(reserved) && queriesLeft() < reserved + quickLookQueries) return;
    await clock.sleep(quickLookMs);
    try {
      await looks.send(await looks.chooseQuick());
    } catch (error) {
      log("warning", "dispatch.failed", { error: errorForLog(error) });
      return;
    }
  }
}

/** Writes that the dispatcher is alive, and what has to outlive it. Undefined: another one has taken over. */
async function beat(
  own: Dispatcher,
  looks: Looks,
  { documents, clock, random }: DialerDeps,
): Promise<Dispatcher | undefined> {
  const value = { ...own.value, beatAt: clock.now(), accounts: looks.accounts() };
  const next = { ...own, version: random.version(), value };
  const [isMine] = await documents.write([{ next, seen: own.version }]);
  return isMine === true ? next : undefined;
}

async function release(own: Dispatcher, looks: Looks, deps: DialerDeps): Promise<void> {
  await beat({ ...own, value: { ...own.value, holder: null } }, looks, deps);
}

/**
 * Ends a loop that has nothing to do: says so, and then looks once more, as a writer of rows that saw it beat has not
 * woken another one.
 *
 * @returns false if something has become due meanwhile
 */
async function endIdle(own: Dispatcher, looks: Looks, deps: DialerDeps): Promise<boolean> {
  await release(own, looks, deps);
  await looks.read();
  return looks.isIdle(deps.clock.now());
}

/** Wraps the ledger and the documents, and counts what is asked of them: a Worker may ask a thousand times. */
function countQueries(deps: DialerDeps): { deps: DialerDeps; queries(): number } {
  let count = 0;
  const counting = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get(target, name, receiver) {
        const method: unknown = Reflect.get(target, name, receiver);
        if (typeof method !== "function") return method;
        return (...words: unknown[]): unknown => {
          // A write is a transaction of two statements.
          count += name === "write" ? 2 : 1;
          return Reflect.apply(method, target, words);
        };
      },
    });
  const counted = {
    ...deps,
    ledger: counting(deps.ledger),
    documents: counting(deps.documents),
  };
  return { deps: counted, queries: () => count };
}
