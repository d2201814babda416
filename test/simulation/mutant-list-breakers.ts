import { mutantsOf, type Mutant } from "./mutant.ts";

const tests = ["breaker-rules", "breakers", "breakers-of-accounts", "probes", "refusals"].map(
  (name) => `test/unit/dialer/${name}.test.ts`,
);

/** Rules about circuit breakers: what opens them, who may probe, and what closes them. */
export const breakerMutants: readonly Mutant[] = [
  ...mutantsOf(tests, [
    [
      "five unreachable in a row open the backlog's breaker",
      "inRow >= unreachableInRowMax || isHalf",
      "isHalf",
    ],
    [
      "half of twenty unreachable open it",
      "inRow >= unreachableInRowMax || isHalf",
      "inRow >= unreachableInRowMax",
    ],
    ["an answer ends the row of failures", "inRow: isAnswered ? 0 : inRow,", "inRow,"],
    ["old counts weigh less", "answered + unreachable > requestsCounted ? 2 : 1;", "1;"],
    [
      "one refusal of the account opens its breaker",
      'await openBreaker(account, { cause: "account_refused", code: outcome.code, sentAt }, deps);',
      "",
    ],
    [
      "a webhook speaks of no account but its own backlog",
      'const account = route.type === "webhook" ? backlog : accountBreakerOf(accountNameOf(route));',
      "const account = accountBreakerOf(accountNameOf(route));",
    ],
    [
      "one answer that names the agent opens its backlog's breaker",
      '{ cause: "agent_refused", code: outcome.code, sentAt, alarms: agentAlarmsOf(call) },',
      '{ cause: "full", code: outcome.code, sentAt, alarms: agentAlarmsOf(call) },',
    ],
    [
      "twenty equal refusals open the backlog's breaker",
      "if (inRow < refusalsInRowMax) return;",
      "if (inRow >= 0) return;",
    ],
    [
      "a different refusal starts a new row",
      "if (known !== undefined && knownCodes.some((other) => other !== code)) {",
      'if (known === undefined && code === "") {',
    ],
    [
      "a refusal that blames the number counts for nothing",
      'if (outcome.kind === "rejected" && outcome.blamesNumber === true) return;',
      "",
    ],
    [
      "one number counts once for a backlog",
      "if (counted.has(call.numberHash)) return { inRow: 0, countries: [] };",
      "",
    ],
    [
      "one 429 opens the backlog's breaker",
      '} else if (await openBreaker(backlog, { cause: "busy", code, sentAt, waitMs }, deps)) {',
      '} else if (code === "") {',
    ],
    [
      "a Retry-After is honoured",
      "const waitMs = Math.min(retryAfterSeconds * 1000, retryAfterMsMax);",
      "const waitMs = 0;",
    ],
    [
      "a Retry-After is believed for fifteen minutes",
      "const waitMs = Math.min(retryAfterSeconds * 1000, retryAfterMsMax);",
      "const waitMs = retryAfterSeconds * 1000;",
    ],
    [
      "a 429 about one number counts for nothing",
      "if (blamesNumber === true) return recordAnswer(judged, { isPlaced: false }, deps);",
      "",
    ],
    [
      "a full account opens its own breaker",
      "if (isFull === true) {",
      "if (isFull === true && retryAfterSeconds < 0) {",
    ],
  ]),
  ...mutantsOf(tests, [
    [
      "two backlogs in trouble open their account's breaker",
      "if (blamed.length < 2) return;",
      "if (blamed.length < 200) return;",
    ],
    [
      "one backlog alone opens no account's breaker",
      "if (blamed.length < 2) return;",
      "if (blamed.length < 1) return;",
    ],
    [
      "ten unreachable in a row of several backlogs open the account's breaker",
      '(all["inRow"] ?? 0) < accountInRowMax || backlogs.length < 2',
      "backlogs.length < 200",
    ],
    [
      "ten unreachable in a row of one backlog open no account's breaker",
      '(all["inRow"] ?? 0) < accountInRowMax || backlogs.length < 2',
      '(all["inRow"] ?? 0) < accountInRowMax',
    ],
    ["a burst's quick failures are no row", "if (call.sentAt < since) return;", ""],
    [
      "a success that was sent before the row began does not end it",
      "Object.keys(counted).length === 0 || sentAt < since) return;",
      "Object.keys(counted).length === 0) return;",
    ],
    [
      "an open breaker hears no failure that was sent before it opened",
      "if (sentAt < value.openedAt) return undefined;\n      // The wait that the provider",
      "// The wait that the provider",
    ],
    [
      "an open breaker hears no success that was sent before it opened",
      "if (value === undefined || sentAt < value.openedAt) return undefined;",
      "if (value === undefined) return undefined;",
    ],
    [
      "a breaker opened by refusals is closed by a placed call alone",
      "if (!isPlaced && !causes[read.cause].isEndedByAnswer) return;",
      "",
    ],
    [
      "a success closes the breaker",
      'if (!isHalfOpened || !isPlaced || value.state === "closed") return null;',
      'if (!isHalfOpened || !isPlaced || value.state === "closed") return undefined;',
    ],
    [
      "one that was busy closes by degrees",
      "  busy: { intervalsMs: seconds(1, 2, 4, 8, 10), isEndedByAnswer: true, isHalfOpened: true }",
      "  busy: { intervalsMs: seconds(1, 2, 4, 8, 10), isEndedByAnswer: true, isHalfOpened: false }",
    ],
    [
      "the provider's own wait counts for each probe",
      "return waitMs > 0 ? { ...value, probeAt: firstProbeAt } : undefined;",
      "return undefined;",
    ],
    [
      "an account that was full takes one call at first",
      'const room = value.state === "half_open" ? value.room + 1 : 1;',
      "const room = 32;",
    ],
    [
      "an account that was full takes more after each success",
      'const room = value.state === "half_open" ? value.room + 1 : 1;',
      "const room = 1;",
    ],
  ]),
  ...mutantsOf(tests, [
    [
      "a probe's time has come before it is taken",
      "const isDue = before.value.probeAt <= now;",
      "const isDue = before.value.probeAt <= now + 600_000;",
      [
        "if (open.every((breaker) => mayProbe(breaker, of, dialAt))) return undefined;",
        "return undefined;",
      ],
      [
        'return { kind: "dial", route: chosen, dialAt: Math.max(dialAt, ...probeAt) };',
        'return { kind: "dial", route: chosen, dialAt };',
      ],
      ["const soon = now + claimAheadMsMax;", "const soon = now + 600_000;"],
      [
        "return inFlight === 0 && open.every((one) => mayProbe(one, of, now)) ? 1 : 0;",
        "return 1;",
      ],
    ],
    ["one caller wins a probe", "if (isTaken !== true) {", "if (isTaken === undefined) {"],
    [
      "a probe under which nothing was sent is given back",
      "next: { ...before, version: random.version() },\n        seen: version,",
      "next: { ...before, version: random.version() },\n        seen: null,",
    ],
    [
      "probes come seldomer",
      "{ probeAt: now + intervalMs, intervalMs: nextIntervalMs(cause, intervalMs) }",
      "{ probeAt: now + intervalMs, intervalMs }",
    ],
    [
      "a backlog that has not failed probes its account at once",
      "return !blamed.includes(shortNameOf(backlogOf(of)));",
      "return false;",
    ],
    [
      "a backlog that has failed waits for its account's next probe",
      "return !blamed.includes(shortNameOf(backlogOf(of)));",
      "return true;",
    ],
    [
      "a backlog that has probed its account counts as one that has failed",
      "blamed: isAccount && !blamed.includes(name) ? [...blamed, name] : blamed,",
      "blamed,",
    ],
    [
      "an account that refuses is not probed out of turn",
      'if (!key.startsWith("account:") || cause !== "unreachable" || blamed.length >= blamedMax) return false;',
      'if (!key.startsWith("account:") || blamed.length >= blamedMax) return false;',
    ],
    [
      "a delivery sends no more of a backlog in trouble",
      "delivery.stopped.add(backlogOf(claim.row));",
      'delivery.stopped.add("");',
    ],
    [
      "a row that comes back after a 429 waits ever longer",
      "return Math.min(1000 * 2 ** (Math.max(1, attempt) - 1), minuteMs);",
      "return 0;",
    ],
    [
      "a row that comes back after a refusal goes behind those that are due",
      "return waiting(outcome.code, now);",
      "return waiting(outcome.code, row.acceptedAt);",
    ],
  ]),
];
