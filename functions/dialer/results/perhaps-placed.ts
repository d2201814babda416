import type { CallState } from "../../../shared/calls/call-row.ts";

/** States of a call that was perhaps placed, and that a callback may settle. */
export const perhapsPlaced: ReadonlySet<CallState> = new Set([
  "UNKNOWN",
  "NEEDS_REVIEW",
  "CANCELLED",
  "REDIALED",
]);
/** Wait of a callback for the holder of its claim, who settles it or lets it lapse. */
export const heldSeconds = 30;
