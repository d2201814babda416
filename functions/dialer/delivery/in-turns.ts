/**
 * Runs `work` over the items in order, at most `total` at once and at most `limitOf` of a group. Rejects with
 * the first error, after everything under way has ended.
 */
export async function inTurns<Item>(
  items: readonly Item[],
  limits: {
    total: number;
    groupOf(item: Item): string;
    limitOf(item: Item): number;
  },
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const underWay = new Map<string, number>();

  /** Takes the first item whose group is below its limit. */
  const take = (): Item | undefined => {
    const index = waiting.findIndex(
      (item) => (underWay.get(limits.groupOf(item)) ?? 0) < limits.limitOf(item),
    );
    return index < 0 ? undefined : waiting.splice(index, 1)[0];
  };
  const workOn = async (): Promise<void> => {
    for (let item = take(); item !== undefined; item = take()) {
      const group = limits.groupOf(item);
      underWay.set(group, (underWay.get(group) ?? 0) + 1);
      try {
        await work(item);
      } finally {
        underWay.set(group, (underWay.get(group) ?? 1) - 1);
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: limits.total }, workOn));
  const failed = ended.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
