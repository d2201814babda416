import type { World } from "./world.ts";

/** Probabilities of faults between a function and a service it uses. */
export interface Faults {
  /** The request fails without effect. */
  before: number;
  /** The request takes effect, and its answer is lost. */
  after: number;
  /** The answer takes minutes. */
  slow: number;
}

/** A failure in the form of an SDK's, whose message contains values that no log line may contain. */
export class OutsideError extends Error {
  override name = "OutsideError";
}

/**
 * One request to the outside world: on its way, performed at one time, and on its way back. The caller may be
 * killed or stand still before it is sent and after it was performed. Once sent, it is performed, perhaps
 * long after the caller has given it up.
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
  const onItsWayMs = world.delayOf(what) ?? (world.chance(0.2) ? delay(world, faults) : 0);
  const result = await world.outside(onItsWayMs, what, effect);
  world.mayStop(`${what} answers`);
  await world.wait(delay(world, faults), `${what} answers`);
  if (world.chance(faults.after)) {
    throw new OutsideError(`${what} lost its answer for +12125550100`);
  }
  return result;
}

/**
 * Performs a list of writes that is no transaction: each takes effect at its own time, and if the list fails,
 * any of them may have taken effect.
 */
export function pollEach<Item, Result>(
  world: World,
  faults: Faults,
  what: string,
  items: readonly Item[],
  effect: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  return ask(world, { ...faults, before: 0 }, what, async () => {
    const isFailing = world.chance(faults.before);
    const results = await Promise.all(
      items.map(async (item) => {
        if (isFailing && world.chance(0.5)) return [];
        if (items.length > 1) await world.wait(world.between(1, 200), what);
        return [await effect(item)];
      }),
    );
    if (isFailing) throw new OutsideError(`${what} failed in part for +12125550100`);
    return results.flat();
  });
}

function delay(world: World, { slow }: Faults): number {
  return world.chance(slow) ? world.between(1000, 120_000) : world.between(1, 40);
}
