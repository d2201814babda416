import { useState } from "preact/hooks";

/** Items of a list, the newest first, and the place from which older ones follow. */
export interface Page<Item> {
  items: readonly Item[];
  cursor: string | undefined;
}

/**
 * Joins a first page, which renews itself, and the older pages that were requested. New items push others out of the
 * first page: these stay. If no item of the first page is known any more, the older pages are dropped, because there
 * would be a gap.
 */
export function usePaged<Item>(first: Page<Item> | undefined, idOf: (item: Item) => string) {
  const [older, setOlder] = useState<Page<Item>>();
  const known = new Set(older?.items.map(idOf));
  const news = (first?.items ?? []).filter((item) => !known.has(idOf(item)));
  const isJoined = older !== undefined && news.length < (first?.items.length ?? 0);
  const shown: Page<Item> = isJoined
    ? { items: [...news, ...older.items], cursor: older.cursor }
    : (first ?? { items: [], cursor: undefined });
  const add = ({ items, cursor }: Page<Item>) =>
    setOlder({ items: [...shown.items, ...items], cursor });
  return { ...shown, add };
}
