import { comparePlaces } from "../../../shared/ledger/call-ledger.ts";
import type { Place, WaitingInOrder } from "../../../shared/schedule/account-queue.ts";

/** A list of calls in the order of their places. */
export interface PlaceList<Item> extends WaitingInOrder<Item> {
  add(item: Item): void;
}

/** Creates an empty list. Calls that are added in order, as most are, cost least. */
export function createPlaceList<Item extends Place>(): PlaceList<Item> {
  let items: Item[] = [];
  let taken = 0;
  return {
    first: () => items[taken],
    removeFirst() {
      taken += 1;
      if (taken === items.length) [items, taken] = [[], 0];
    },
    add(item) {
      let [low, high] = [taken, items.length];
      let middle = high - 1;
      while (low < high) {
        const other = items[middle];
        if (other !== undefined && comparePlaces(other, item) <= 0) low = middle + 1;
        else high = middle;
        middle = (low + high) >> 1;
      }
      items.splice(low, 0, item);
    },
  };
}
