/** One page of a list, as the API answers it. */
export interface ListPage<Item> {
  items: readonly Item[];
  /** Where the next page begins: the id of the last item that was looked at. Absent on the last page. */
  cursor?: string | undefined;
  /** Acceptance of the oldest item that was looked at; null: there is nothing older. */
  lookedUntil: string | null;
  /** A remark on the page for people. */
  note?: string | undefined;
}

/** An item and its position: ids as the API's cursors have them, the newest first. */
export interface Placed<Item> {
  item: Item;
  position: string;
}

/** The part of a list that has been read, and where it continues. */
export interface ListRead<Item> {
  placed: readonly Placed<Item>[];
  /** Absent once the end was read. */
  cursor?: string | undefined;
}

/**
 * Puts a page into the list in place of its former items. Items above and below stay, and no item is twice in the
 * list.
 *
 * @param start cursor that the page was asked for with; undefined: it is the first one
 */
export function mergePage<Item>(
  { placed, cursor }: ListRead<Item>,
  page: ListRead<Item>,
  { start, idOf }: { start: string | undefined; idOf: (item: Item) => string },
): ListRead<Item> {
  const fresh = new Set(page.placed.map(({ item }) => idOf(item)));
  const others = placed.filter(({ item }) => !fresh.has(idOf(item)));
  const above = start === undefined ? [] : others.filter(({ position }) => position >= start);
  const end = page.cursor;
  const below = end === undefined ? [] : others.filter(({ position }) => position < end);
  const isEnded = end === undefined || (placed.length > 0 && cursor === undefined);
  const lowest = cursor !== undefined && end !== undefined && cursor < end ? cursor : end;
  return {
    placed: [...above, ...page.placed, ...below],
    ...(isEnded ? {} : { cursor: lowest }),
  };
}

/** True if more items came in since a list was read than its first page has, so that some are missing between the two. */
export function hasGap<Item>({ placed }: ListRead<Item>, { cursor }: ListRead<Item>): boolean {
  if (cursor === undefined || placed.length === 0) return false;
  return placed.every(({ position }) => position < cursor);
}
