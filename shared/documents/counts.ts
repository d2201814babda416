import type { CallState } from "../calls/call-row.ts";
import type { DocumentKey, Documents } from "./documents.ts";

const hourMs = 3_600_000;

/** Names the document that counts the calls that reached each state in the hour of `at`. */
export function countsKeyOf(at: number): DocumentKey<"counts"> {
  return { kind: "counts", key: String(Math.floor(at / hourMs)) };
}

/** Adds calls that reached these states at `at`, in one write. DIALING is not counted. */
export async function addCounts(
  documents: Documents,
  states: readonly CallState[],
  at: number,
  retentionMs: number,
): Promise<void> {
  const counters: Record<string, number> = {};
  for (const state of states) {
    if (state !== "DIALING") counters[state] = (counters[state] ?? 0) + 1;
  }
  if (Object.keys(counters).length === 0) return;
  await documents.add(countsKeyOf(at), counters, Math.ceil(at / hourMs) * hourMs + retentionMs);
}
