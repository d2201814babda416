import { type CallState, states } from "../calls/states.ts";
import type { Documents } from "../ports/documents.ts";
import type { DocumentKey } from "../ports/document-kinds.ts";
import { hourMs } from "../lib/units.ts";

/** Names the document that counts the calls that reached each state in the hour of `at`. */
export function countsKeyOf(at: number): DocumentKey<"counts"> {
  return { kind: "counts", key: String(Math.floor(at / hourMs)) };
}

/** Counts calls that reached these states at `at`, in one write. */
export async function addCounts(
  reached: readonly CallState[],
  { at, retentionMs }: { at: number; retentionMs: number },
  documents: Documents,
): Promise<void> {
  const counters: Record<string, number> = {};
  for (const state of reached) {
    if (states[state].counted) counters[state] = (counters[state] ?? 0) + 1;
  }
  if (Object.keys(counters).length === 0) return;
  await documents.add(countsKeyOf(at), counters, Math.ceil(at / hourMs) * hourMs + retentionMs);
}
