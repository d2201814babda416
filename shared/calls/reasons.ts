/**
 * Meaning of each reason of a row, in one sentence for operators. Reasons only inform: no code decides by
 * them. A provider's own codes, such as `http_429` or `telnyx_10011`, are rows' reasons as well and are not
 * listed here.
 */
export const reasons = {
  accepted: "The API accepted the call.",
  ancestor_unknown:
    "A call in whose stead this one is to be made may have been placed: a person decides.",
  breaker_open: "The circuit breaker of the account, or of the client and agent, is open.",
  caller_ids:
    "All numbers of the agent's pool rest, as carriers have blocked them: the call waits for one.",
  calls_per_day:
    "The account has placed as many calls on this day (UTC) as its callsPerDay allow: the call waits for the next.",
  check_failed:
    "The check after the colon gave no valid answer: the call waits and the check is asked again.",
  check_never: "The check after the colon put the number onto the do-not-call list.",
  check_outdated: "The answer of a check was no longer valid, so nothing was sent.",
  check_refused: "The check after the colon refused the call, for the reason that follows it.",
  check_wait: "The check after the colon asked for the call to wait.",
  claim_lapsed: "The dialer that was about to dial never said what became of the call.",
  claim_too_old: "Too much time passed between the claim and the request, so nothing was sent.",
  claimed: "A dialer has taken the call and is about to dial.",
  client: "The client that posted the call has cancelled it.",
  context_not_carried: "The provider of the agent's route cannot carry the call's context whole.",
  dead_letter: "The call's message failed a hundred times and left the queue.",
  destination_denied: "The dial plan does not permit calls to the number's destination.",
  do_not_call: "The number is on the do-not-call list.",
  erased: "An operator had everything erased that was known of the number.",
  expired: "The call was not dialed within the plan's expireAfterHours.",
  found: "The provider's records show that the call was placed.",
  hours: "The calling hours of the rule after the colon are closed.",
  live_calls: "As many calls of the account as its liveCalls allow ring or are under way.",
  max_calls:
    "The number has been called as often as the plan's maxCalls allow; of an EXPIRED call: that kept it waiting last.",
  no_capacity:
    "The account had as many requests under way as it may, or the delivery no time left.",
  not_before: "The client does not want the call dialed before this time (Call-Not-Before).",
  not_checked: "What bears on the call could not be read in time, so nothing was sent.",
  not_found: "The provider was asked for the call and has no record of it yet.",
  operator: "An operator decided this.",
  outcome_unknown: "It could not be found out whether the call was placed: a person decides.",
  pace: "The account's callsPerSecond leave no permit yet.",
  paused: "The agent, account or client is paused: by an operator; an agent also for its results.",
  permit_void: "The request could not leave at the time of its permit.",
  placed: "The provider took the call.",
  placed_before: "The call in whose stead this one was to be made has been placed after all.",
  resent: "The request was sent once more, to a provider that drops what it has seen.",
  restored:
    "The ledger was restored to an earlier state, and the call may have been dialed meanwhile.",
  result_contradicted:
    "The provider reported another end of the call than before; the first one stays.",
  retry:
    "The call was tried before, and its next try waits for the time that the plan's retry sets.",
  route_gone: "The dial plan no longer has a route for the agent: the call waits for one.",
  turn: "The call waits for its turn among the calls of its account.",
} as const satisfies Record<string, string>;

/**
 * Returns the meaning of a row's reason; undefined for a provider's own code. `hours:countries.FR` has the
 * reason `hours`.
 */
export function findMeaning(reason: string): string | undefined {
  const [name = ""] = reason.split(":", 1);
  return Object.entries(reasons).find(([known]) => known === name)?.[1];
}
