/**
 * Encodes a set of call indexes as base64 of one bit per index. The ten thousand indexes of the largest request take
 * 1.7 kB, so that an order which names them is one small document.
 */
export function toIndexSet(indexes: readonly number[], earlier = ""): string {
  const before = Buffer.from(earlier, "base64");
  const bits = Buffer.alloc(Math.max(before.length, byteOf(Math.max(0, ...indexes)) + 1));
  before.copy(bits);
  for (const index of indexes) bits[byteOf(index)] = (bits[byteOf(index)] ?? 0) | bitOf(index);
  return bits.toString("base64");
}

/** Returns the indexes of two sets. */
export function joinIndexSets(one: string, other: string): string {
  const [short, long] = [one, other]
    .map((set) => Buffer.from(set, "base64"))
    .toSorted((a, b) => a.length - b.length);
  const bits = Buffer.from(long ?? []);
  for (const [at, byte] of (short ?? Buffer.alloc(0)).entries()) bits[at] = (bits[at] ?? 0) | byte;
  return bits.toString("base64");
}

export function hasIndex(set: string, index: number): boolean {
  return ((Buffer.from(set, "base64")[byteOf(index)] ?? 0) & bitOf(index)) !== 0;
}

function byteOf(index: number): number {
  return Math.floor(index / 8);
}

function bitOf(index: number): number {
  return 1 << (index % 8);
}
