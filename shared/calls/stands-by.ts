/** Reasons why due calls of an account do not go. The dispatcher records one with each account. */
export const standsByNames = [
  "paused",
  "breaker_open",
  "pace",
  "calls_per_day",
  "live_calls",
  "in_flight",
  "slow",
] as const;
export type StandsBy = (typeof standsByNames)[number];
