/** Items of which the least comes first. */
export interface Heap<Item> {
  first(): Item | undefined;
  add(item: Item): void;
  /** Removes the first item and returns it. */
  take(): Item | undefined;
}

/**
 * Creates a heap. Items that are added in order, as most of a batch are, cost one comparison each: they stand in a list
 * beside the binary heap.
 *
 * @param compare negative if the first item goes before the second
 */
export function createHeap<Item>(compare: (one: Item, other: Item) => number): Heap<Item> {
  const others = createBinaryHeap(compare);
  let sorted: Item[] = [];
  let taken = 0;
  /** True if the first item stands in the list. */
  const isListed = () => {
    const [one, other] = [sorted[taken], others.first()];
    return one !== undefined && (other === undefined || compare(one, other) <= 0);
  };
  return {
    first: () => (isListed() ? sorted[taken] : others.first()),
    add(item) {
      const last = sorted.at(-1);
      if (last === undefined || compare(last, item) <= 0) sorted.push(item);
      else others.add(item);
    },
    take() {
      if (!isListed()) return others.take();
      const item = sorted[taken];
      taken += 1;
      if (taken === sorted.length) [sorted, taken] = [[], 0];
      return item;
    },
  };
}

function createBinaryHeap<Item>(compare: (one: Item, other: Item) => number): Heap<Item> {
  const items: Item[] = [];

  /** Returns the lesser of the children of a place; undefined if it has none. */
  const childOf = (place: number): { at: number; item: Item } | undefined => {
    const at = 2 * place + 1;
    const [left, right] = [items[at], items[at + 1]];
    if (left === undefined) return undefined;
    return right !== undefined && compare(right, left) < 0
      ? { at: at + 1, item: right }
      : { at, item: left };
  };

  return {
    first: () => items[0],
    add(item) {
      let place = items.length;
      while (place > 0) {
        const parent = (place - 1) >> 1;
        const above = items[parent];
        if (above === undefined || compare(item, above) >= 0) break;
        items[place] = above;
        place = parent;
      }
      items[place] = item;
    },
    take() {
      const taken = items[0];
      const last = items.pop();
      if (last === undefined || items.length === 0) return taken;
      let place = 0;
      for (let child = childOf(0); child !== undefined; child = childOf(place)) {
        if (compare(last, child.item) <= 0) break;
        items[place] = child.item;
        place = child.at;
      }
      items[place] = last;
      return taken;
    },
  };
}
