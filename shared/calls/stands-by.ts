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

/** A sentence for each reason, shared by the API's description, the console and the command line. */
export const standsBy: Readonly<Record<StandsBy, string>> = {
  paused: "They are paused: by an operator, or for their results.",
  breaker_open: "The circuit breaker is open: one call at a time probes it.",
  pace: "They wait for their turn in the account's pace.",
  calls_per_day: "The account has placed as many calls as it may on this day (UTC).",
  live_calls: "As many calls as the account may have at once ring or are under way.",
  in_flight: "As many of their calls are in flight as the account has taken at once so far.",
  slow: "They are answered slowly, or were never answered yet: few of them go at once.",
};
