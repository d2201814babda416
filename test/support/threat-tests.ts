/** Tests that show what SECURITY.md says of each threat, by their file: its titles, as they are written there. */
export const threatTests: Readonly<Record<string, readonly string[]>> = {
  "test/contracts/http-api/idempotency.ts": [
    "keeps a key to its client, and through a rotation of the token",
  ],
  "test/contracts/requests-api/callers.ts": [
    "shows no request of another client, and does not reveal that it exists",
    "accepts a client's tokens that have the right, and answers the others that they lack it",
  ],
  "test/contracts/http-api/callers.ts": ["keeps a token to its agents"],
  "test/unit/settings/tokens.test.ts": [
    "are made of 178 random bits and more, and no two are alike",
    "are there where they are set, and let nobody in where they are wrong",
  ],
  "test/unit/api/made-tokens.test.ts": ["costs no read if it is forged"],
  "test/contracts/restore.ts": [
    "lets nobody in by a token that has ended, and keeps one that was made meanwhile",
  ],
  "test/contracts/operator-api/access.ts": [
    "does nothing for another site's page, nor for a token in an address",
    "lets in operators' tokens alone, and a client's nowhere",
  ],
  "test/unit/api/callbacks.test.ts": [
    "costs one message, and a forged callback nothing: no message, no ledger, no line of the log",
  ],
  "test/unit/dialer/opt-out.test.ts": ["is listed only by a callback that verifies"],
  "test/unit/providers/signed-results.test.ts": [
    "of another call does not verify at this one's address",
    "is verified by its own account's secret, which is needed unless the call went to this machine",
  ],
  "test/unit/dialer/signed-callbacks.test.ts": [
    "of one account changes nothing about another account's call that is %s",
  ],
  "test/contracts/fuzz-api.ts": [
    "answers each 201, 401 or 422, queues what it accepted alone, and repeats no secret",
    "answers $expected to $name",
  ],
  "test/contracts/operator-api/calls.ts": [
    "reveals a call's number and context to who asks, and records it",
  ],
  "test/contracts/operator-api/dead-letters.ts": [
    "lists dead letters page by page, and shows one without its number and context",
  ],
  "test/unit/dialer/events.test.ts": [
    "report that it was placed and its result, without its number",
  ],
  "test/unit/api/hostile-memory.slow.test.ts": [
    "answers the worst of bodies within its memory, briefly, and keeps nothing of them",
  ],
  "test/unit/api/hostile-workerd.long.test.ts": [
    "answers the largest batches in a workerd that has half of a Worker's memory",
  ],
  "test/unit/dial-plan/dial-plan.test.ts": [
    "with destinations %j and the number %s: %s",
    "with %j is refused: %s",
  ],
  "test/contracts/http-api/callbacks.ts": [
    "are answered 204, 401, 404, 405 or 422, whatever is sent, and each 204 is one message",
    "of one call of %s are hints, whatever their body says",
  ],
  "test/unit/operator/request-progress.test.ts": [
    "lets nobody have a large request counted again and again",
  ],
  "test/unit/api/client-guards.test.ts": [
    "is never exceeded by many at once, and leaves no count behind",
  ],
  "test/unit/api/bounded-orders.test.ts": [
    "are taken, leave one entry a minute, and are all given again after a restore",
    "repeated orders are one after a restore, as they were before",
  ],
  "test/unit/api/largest-rate.slow.test.ts": [
    "a token that writes as fast as it may leaves a journal that upkeep keeps up with and a restore soon applies",
  ],
  "test/unit/api/journal-order.test.ts": [
    "what is listed and removed holds after a restore as before, whatever the clocks and pages",
  ],
  "test/unit/api/write-budgets.test.ts": ["of %s by %o are refused above the hour's maximum: %o"],
  "test/unit/api/readiness.test.ts": ["reads the ledger once in five seconds, however many ask"],
  "test/unit/dialer/event-turns.long.test.ts": [
    "holds one request at a time after the first time-out, and gets all when it is back",
  ],
  "test/unit/api/encoded-paths.test.ts": ["is unknown where the platform leaves it as it came: %s"],
  "test/unit/operator/roles.test.ts": ["lets in tokens with its role alone: %s"],
  "test/unit/operator/look-up.test.ts": ["for who has the role find alone, who is recorded: %s"],
  "test/unit/operator/granted-rights.test.ts": [
    "makes a token with %s for who has configure and %s",
  ],
  "test/contracts/requests-api/receivers.ts": [
    "lets in tokens with the right alone, and no test token",
  ],
  "test/simulation/long/simulation.slow.test.ts": ["keeps every promise, whatever goes wrong"],
  "test/unit/dialer/caps.test.ts": [
    "lets so many calls to a number through, and others wait for the first free moment",
  ],
  "test/contracts/provider-requests.ts": [
    "puts neither number nor context into an address or a header",
  ],
  "test/unit/lib/public-address.test.ts": [
    "is never a private or reserved one of IPv4, however it is spelled",
  ],
  "test/unit/dialer/post-to-client-receiver.test.ts": [
    "does not connect to a name that resolves to a private address at the time of the connection",
    "follows no redirect to a private address",
  ],
  "test/unit/dialer/post-event.test.ts": [
    "follows no redirect, wherever it leads",
    "reads a kilobyte of an answer that never ends, and hangs up",
  ],
  "test/end-to-end/operator-page.slow.test.ts": [
    "finds a call that needs review, shows it when asked to, and has it made again",
  ],
  "test/contracts/service/connections.ts": [
    "refuses a request whose length is given in two ways or in none",
  ],
  "test/aws/stack-rights.slow.test.ts": [
    "gives nobody a wildcard action, and reaches nothing but its own resources",
  ],
  "test/unit/api/openapi.test.ts": ["name every route that the API has"],
  "test/contracts/provider-answers.ts": [
    "does not know what became of a call whose answer hangs, breaks off or never ends",
  ],
  "test/unit/providers/webhook.test.ts": [
    "signs the time, so that whoever receives it can refuse it when it is replayed",
  ],
  "test/contracts/event-receiver.ts": ["does not act upon an event that is $what"],
  "test/unit/lib/shown-text.test.ts": ["has no other way to a terminal, nor to the page as markup"],
  "test/unit/lib/csv.test.ts": ["makes %j the field %j"],
  "test/unit/policy/check-answers.test.ts": [
    "never permits a call by any other text, and never throws",
  ],
  "test/unit/dialer/checks.test.ts": ["that $how delays its own agents only, on one account"],
  "test/contracts/service/log.ts": ["has logged no number, no context and no token in all of this"],
  "test/unit/infra/audit.long.test.ts": [
    "reports a high vulnerability, and exits with 1 if no exception accepts it",
  ],
};
