/**
 * Items of one slice: some milliseconds of work. They are counted, because a Worker's clock does not advance
 * meanwhile.
 */
export const sliceItems = 250;

/** Lets other requests of this process continue. */
export function giveWay(): Promise<void> {
  return new Promise((resume) => setTimeout(resume, 0));
}

/** Maps many items, and lets other requests continue between slices. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const mapped: Result[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % sliceItems === 0) await giveWay();
    mapped.push(map(item, index));
  }
  return mapped;
}
