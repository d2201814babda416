import type { CallRow, HistoryEntry, PassedCheck } from "./call-row.ts";

/** The permission of all checks of a call. */
export interface Permission {
  checks: PassedCheck[];
  /** Time until which the call may be dialed, in milliseconds since the epoch. */
  validUntil: number;
  /** Time that the checks took. */
  ms: number;
}

/**
 * Adds to a freshly claimed row the checks that permit the call. They are part of the claim's step. If the history is
 * full, and so does not record the claim, they replace the oldest step of a claim, because the proof for the latest
 * claim must stay.
 */
export function withPassedChecks(row: CallRow, checks: PassedCheck[]): CallRow {
  const { history, reason, state, updatedAt } = row;
  const step: HistoryEntry = { at: updatedAt, state, reason, checks };
  const last = history.at(-1);
  if (last?.state === state && last.at === updatedAt) {
    return { ...row, history: [...history.slice(0, -1), step] };
  }
  const oldest = Math.max(
    0,
    history.findIndex((one) => one.checks !== undefined),
  );
  return { ...row, history: [...history.toSpliced(oldest, 1), step] };
}

/** Returns the checks of the latest claim, which may still be valid. */
export function findPassedChecks(row: CallRow | undefined): PassedCheck[] {
  return row?.history.findLast(({ checks }) => checks !== undefined)?.checks ?? [];
}

/** Returns a history without the evidence of its checks, for a row whose personal data is erased. */
export function withoutEvidence(history: readonly HistoryEntry[]): HistoryEntry[] {
  return history.map(({ checks, ...step }) =>
    checks === undefined
      ? step
      : { ...step, checks: checks.map(({ check, at }) => ({ check, at })) },
  );
}
