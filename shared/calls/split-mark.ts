// A call carries the name of the split that has chosen its agent, and the round in which it did.

/** Composes the mark. `since`: the beginning of the round, in milliseconds since the epoch. */
export function toSplitMark({ name, since }: { name: string; since: number }): string {
  return `${since} ${name}`;
}

/** Parses a mark that `toSplitMark` made. */
export function parseSplitMark(mark: string): { name: string; since: number } {
  const space = mark.indexOf(" ");
  return { name: mark.slice(space + 1), since: Number(mark.slice(0, space)) };
}
