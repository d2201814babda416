/** Limits of an account that a forecast simulates beside its pace. */
export const accountLimits = ["live_calls", "calls_per_day"] as const;

/** Reasons why due calls of an account do not go. The dispatcher records one with each account. */
export const standsByNames = [
  "paused",
  "breaker_open",
  "pace",
  ...accountLimits,
  "in_flight",
  "slow",
] as const;
export type StandsBy = (typeof standsByNames)[number];
