import type { ValueOf } from "#shared/ports/document-kinds.ts";

/** Returns what sweeps know after a full round at this time. */
export const sweptAt = (at: number, more: Partial<ValueOf<"sweep">> = {}): ValueOf<"sweep"> => ({
  epoch: 0,
  leaseUntil: 0,
  fullRoundAt: at,
  roundBeganAt: at,
  watchAfter: null,
  ...more,
});

/** Returns a restore of the ledger that was noticed at this time, and that nobody has confirmed. */
export const suspendedAt = (
  since: number,
  more: Partial<ValueOf<"restore">> = {},
): ValueOf<"restore"> => ({
  state: "suspended",
  since,
  epoch: 1,
  at: null,
  by: null,
  isWatchDone: false,
  lookedUp: 0,
  toReview: 0,
  ...more,
});
