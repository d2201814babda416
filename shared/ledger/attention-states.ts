import type { CallState } from "../calls/call-row.ts";

/** States that operators look after. Adapters keep an index of them; rows of other states are listed by time. */
export const attentionStates: readonly CallState[] = [
  "UNKNOWN",
  "NEEDS_REVIEW",
  "REJECTED",
  "EXPIRED",
];
