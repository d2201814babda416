/** Counts of writes that are bounded for each writer, and of those that are gathered above a number. */
import type { Documents } from "../ports/documents.ts";

/** A client, or an operator by a token. */
export type Writer = { client: string } | { operator: string };

/** Returns the text by which a writer is known in keys. */
export function nameOfWriter(writer: Writer): string {
  return JSON.stringify(Object.entries(writer)[0]);
}

interface CountedWrites {
  writer: Writer;
  /** Time of the write, and the time within which writes are counted together: a minute or an hour of the clock. */
  at: number;
  withinMs: number;
  counters: Record<string, number>;
}

/** Counts writes, by one addition. Resolves to those of the same minute or hour, with these. */
export function countWrites(
  { writer, at, withinMs, counters }: CountedWrites,
  { documents }: { documents: Pick<Documents, "add"> },
): Promise<Record<string, number>> {
  const began = Math.floor(at / withinMs) * withinMs;
  const key = JSON.stringify([nameOfWriter(writer), withinMs, began]);
  return documents.add({ kind: "write-counts", key }, counters, began + 2 * withinMs);
}
