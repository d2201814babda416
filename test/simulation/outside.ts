import type { CallLedger } from "../../shared/ledger/call-ledger.ts";
import type { World } from "./world.ts";

/** Chances of what may go wrong between a function and a service it asks. */
export interface Faults {
  /** It fails, and nothing was done. */
  before: number;
  /** It was done, and the answer is lost. */
  after: number;
  /** It takes minutes to answer. */
  slow: number;
}

/** A failure such as an SDK throws; its message has what no log line may have. */
export class OutsideError extends Error {
  override name = "OutsideError";
}

/**
 * One request to the outside world: on its way, done at one moment, and on its way back. Whoever asks may be killed
 * or stand still before it is done and after.
 */
export async function ask<Result>(
  world: World,
  faults: Faults,
  what: string,
  effect: () => Promise<Result>,
): Promise<Result> {
  await world.wait(delay(world, faults), what);
  world.mayStop(what);
  await world.wait(0, what);
  if (world.chance(faults.before)) throw new OutsideError(`${what} failed for +12125550100`);
  const result = await effect();
  world.mayStop(`${what} answers`);
  await world.wait(delay(world, faults), `${what} answers`);
  if (world.chance(faults.after))
    throw new OutsideError(`${what} lost its answer for +12125550100`);
  return result;
}

function delay(world: World, { slow }: Faults): number {
  return world.chance(slow) ? world.between(1000, 120_000) : world.between(1, 40);
}

/**
 * The ledger as the functions reach it. A list of writes is no transaction: each is made at its own moment, and when
 * the list fails any of them may have been made.
 */
export function reachLedger(ledger: CallLedger, world: World, faults: () => Faults): CallLedger {
  const one = <Result>(what: string, effect: () => Promise<Result>) =>
    ask(world, faults(), what, effect);
  const each = <Item, Result>(
    what: string,
    items: Item[],
    effect: (item: Item[]) => Promise<Result[]>,
  ): Promise<Result[]> =>
    ask(world, { ...faults(), before: 0 }, what, async () => {
      const failing = world.chance(faults().before);
      const results = await Promise.all(
        items.map(async (item) => {
          if (failing && world.chance(0.5)) return [];
          if (items.length > 1) await world.wait(world.between(1, 200), what);
          const done = await effect([item]);
          world.note(`${what} ${JSON.stringify(done)} ${summaryOf(item)}`);
          return done;
        }),
      );
      if (failing) throw new OutsideError(`${what} failed in part for +12125550100`);
      return results.flat();
    });
  return {
    read: (ids) => one("read", () => ledger.read(ids)),
    claim: (claims) => each("claim", claims, ledger.claim),
    settle: (settlements) => each("settle", settlements, ledger.settle),
    defer: (writes) => each("defer", writes, ledger.defer),
    act: (acts) => each("act", acts, ledger.act),
    note: (notes) => one("note", () => ledger.note(notes)),
    due: (query) => one("due", () => ledger.due(query)),
    sweptAt: () => one("sweptAt", () => ledger.sweptAt()),
    swept: (at) => one("swept", () => ledger.swept(at)),
    lines: () => one("lines", () => ledger.lines()),
    list: (query) => one("list", () => ledger.list(query)),
    ended: (before, limit) => one("ended", () => ledger.ended(before, limit)),
    purge: (ids, before, now) => one("purge", () => ledger.purge(ids, before, now)),
    counts: (from, until) => one("counts", () => ledger.counts(from, until)),
    writeCounts: () => one("writeCounts", () => ledger.writeCounts()),
    standing: (state, most) => one("standing", () => ledger.standing(state, most)),
    holdOrders: () => one("holdOrders", () => ledger.holdOrders()),
    ordersNamed: (names, now) => one("ordersNamed", () => ledger.ordersNamed(names, now)),
    ordersFor: (names, now) => one("ordersFor", () => ledger.ordersFor(names, now)),
    giveOrder: (order) => one("giveOrder", () => ledger.giveOrder(order)),
    dropOrder: (name) => one("dropOrder", () => ledger.dropOrder(name)),
    doNotCall: (hashes) => one("doNotCall", () => ledger.doNotCall(hashes)),
    addDoNotCall: (hashes, at) => one("addDoNotCall", () => ledger.addDoNotCall(hashes, at)),
    dropDoNotCall: (hashes) => one("dropDoNotCall", () => ledger.dropDoNotCall(hashes)),
    logAct: (act) => one("logAct", () => ledger.logAct(act)),
    acts: (query) => one("acts", () => ledger.acts(query)),
    readKey: (key, now) => one("readKey", () => ledger.readKey(key, now)),
    bindKey: (key, bound, now, expiresAt) =>
      one("bindKey", () => ledger.bindKey(key, bound, now, expiresAt)),
    holds: () => one("holds", () => ledger.holds()),
    strike: (strike) => one("strike", () => ledger.strike(strike)),
    takeProbe: (hold, next) => one("takeProbe", () => ledger.takeProbe(hold, next)),
    clearHold: (name) => one("clearHold", () => ledger.clearHold(name)),
    reserve: (request) => one("reserve", () => ledger.reserve(request)),
    count: (call) => one("count", () => ledger.count(call)),
    uncount: (call) => one("uncount", () => ledger.uncount(call)),
  };
}

function summaryOf(write: unknown): string {
  const { call, ...rest } = { call: undefined, ...Object(write) };
  return JSON.stringify({ id: call?.id, ...rest });
}
