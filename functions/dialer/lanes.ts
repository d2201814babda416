/**
 * Runs `work` over the items in their order, at most `lanes` at once and at most `groupLanes` of a group.
 * Rejects with the first error, after everything under way has ended.
 */
export async function inLanes<Item>(
  items: readonly Item[],
  limits: {
    lanes: number;
    group(item: Item): string;
    groupLanes(item: Item): number;
  },
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const underWay = new Map<string, number>();

  /** The first item whose group has a lane free. */
  const take = (): Item | undefined => {
    const index = waiting.findIndex(
      (item) => (underWay.get(limits.group(item)) ?? 0) < limits.groupLanes(item),
    );
    return index < 0 ? undefined : waiting.splice(index, 1)[0];
  };
  const lane = async (): Promise<void> => {
    for (let item = take(); item !== undefined; item = take()) {
      const group = limits.group(item);
      underWay.set(group, (underWay.get(group) ?? 0) + 1);
      try {
        await work(item);
      } finally {
        underWay.set(group, (underWay.get(group) ?? 1) - 1);
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: limits.lanes }, lane));
  const failed = ended.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
