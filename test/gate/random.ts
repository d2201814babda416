/** Chance that a seed repeats. */
export interface Chance {
  /** 0 ≤ fraction < 1. */
  fraction(): number;
  /** An integer from `low` up to and without `high`. */
  below(high: number, low?: number): number;
  is(probability: number): boolean;
  one<Item>(items: readonly [Item, ...Item[]]): Item;
}

/** Creates chance by a seed (mulberry32). */
export function createChance(seed: number): Chance {
  let state = Math.imul(seed + 1, 0x9e3779b9) >>> 0;
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (high: number, low = 0) => low + Math.floor(fraction() * (high - low));
  return {
    fraction,
    below,
    is: (probability) => fraction() < probability,
    one: (items) => items[below(items.length)] ?? items[0],
  };
}

/** Returns the fraction that belongs to a text under a seed, whatever was asked before (FNV-1a, mixed). */
export function fractionOf(seed: number, text: string): number {
  let hash = 0x811c9dc5 ^ seed;
  for (const character of text)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return createChance(hash >>> 0).fraction();
}
