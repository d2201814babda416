import { mutantsOf, type Mutant } from "./mutant.ts";

const rules = ["breakers", "claimed", "waiting"].map((name) => `test/simulation/${name}.test.ts`);
const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

/** Rules about splitting, waiting, pacing, breakers, sweeps and dead letters. */
export const waitingMutants: readonly Mutant[] = [
  ...mutantsOf(unit("split"), [
    [
      "what the queue did not take of a request is sent again",
      'if (sent === messages.length) return "ack";',
      'if (sent > 0) return "ack";',
    ],
    [
      "calls that must wait are written before the message is acknowledged",
      "await writeDecided(writes, deps, deadline);",
      "",
    ],
    [
      "every row of a paced account is written before one is called up",
      'decision.kind === "dial" && paceOfRoute(decision.route, deps) !== undefined',
      'decision.kind === "dial" && decision.dialAt < 0',
    ],
  ]),
  ...mutantsOf(unit("delivery", "unreadable", "claims"), [
    [
      "a ledger that cannot be read hands the delivery back",
      "return new Set(wanted.map(({ id }) => id));",
      "return new Set();",
    ],
    [
      "a message that cannot be read comes again",
      "if (message === undefined) answers[index] = retryLater(attempt);",
      'if (message === undefined) answers[index] = "ack";',
    ],
    [
      "an outcome that was not written comes again",
      'await settleOutcome(settlement, deps);\n    return "ack";',
      'void settleOutcome(settlement, deps).catch(() => undefined);\n    return "ack";',
    ],
  ]),
  ...mutantsOf(
    [...rules, ...unit("delivery", "unreadable", "claims")],
    [
      [
        "a row that only a later version can read is handed back",
        "const again = new Set(plan.unreadable);",
        "const again = new Set<string>();",
      ],
      [
        "a call that is older than its row could be is not dialed",
        "if (row === undefined && call.acceptedAt < oldest) {",
        "if (row === undefined && call.acceptedAt < 0) {",
      ],
      [
        "a decision that was not written hands the message back",
        "writeDecided(plan.writes, deps).catch(failed(idsOf(plan.writes))),",
        "writeDecided(plan.writes, deps).catch(() => undefined),",
      ],
    ],
  ),
  ...mutantsOf(unit("dead-letters"), [
    [
      "a dead letter's call without a row comes to a person",
      'const state = at < expiryOf(call, settings.plan) ? "NEEDS_REVIEW" : "EXPIRED";',
      'const state = "EXPIRED";',
    ],
    [
      "a row that was purged is not written anew",
      "acceptedAt >= oldestAccepted(at, deps)",
      "acceptedAt >= oldestAccepted(0, deps)",
    ],
    [
      "a message that nobody can read is kept before it is acknowledged",
      "await withTimeLimit(deadLetters.store(id, body), queueSecondsMax);",
      "void body;",
    ],
    [
      "a row that stands is not written over by a dead letter",
      "return next === undefined ? [] : { next, seen: null };",
      "return next === undefined ? [] : { next, seen: rows.get(call.id)?.version ?? null };",
      [
        "const changes = recent.flatMap",
        "const { rows } = await ledger.read(calls.map(({ id }) => id));\n  const changes = recent.flatMap",
      ],
    ],
  ]),
  ...mutantsOf(rules, [
    [
      "rows stand for the plan's retention",
      "clock.now() - settings.plan.retentionDays * 86_400_000",
      "clock.now() - settings.plan.retentionDays * 3_600_000",
    ],
    [
      "what nobody has resolved is said before it is purged",
      'if (state === "NEEDS_REVIEW" || state === "UNKNOWN") {',
      'if (state === "UNKNOWN") {',
    ],
  ]),
  ...mutantsOf(rules, [
    [
      "a moment of the pace that has passed is void",
      "return late >= 0 && late <= permitAgeMsMax && late < pace.intervalUs / 1000;",
      "return late >= 0;",
    ],
    [
      "a request does not leave before its moment",
      "return late >= 0 && late <= permitAgeMsMax && late < pace.intervalUs / 1000;",
      "return late >= -5_000 && late <= permitAgeMsMax;",
      ["resolve(moments[index])", "resolve((moments[index] ?? 0) - 4_000)"],
    ],
    [
      "permits that are asked for together are as many",
      "takePermits(key, pace, all.length, window)",
      "takePermits(key, pace, 1, window).then(([one]) => all.map(() => one ?? 0))",
    ],
  ]),
  ...mutantsOf(rules, [
    [
      "five unanswered in a row open the account's breaker",
      "inRow >= unansweredInRowMax || isHalf",
      "isHalf",
    ],
    [
      "half of twenty unanswered open it",
      "inRow >= unansweredInRowMax || isHalf",
      "inRow >= unansweredInRowMax",
    ],
    ["an answer ends the row of failures", "inRow: isAnswered ? 0 : inRow,", "inRow,"],
    [
      "one refusal of the account opens its breaker",
      'return openBreaker(account, outcome.code, "refusal", read, deps);',
      "return;",
    ],
    [
      "one answer that names the route opens the route's breaker",
      'return openBreaker(routeBreakerOf(route), outcome.code, "refusal", read, deps);',
      "return;",
    ],
    [
      "twenty equal refusals open the agent's breaker",
      "return (all[code] ?? 0) >= refusalsInRowMax;",
      "return false;",
    ],
    [
      "a refusal that blames the number counts for nothing",
      'if (outcome.kind === "rejected" && outcome.blamesNumber === true) return;',
      "",
    ],
    ["one number counts once for an agent", "if (counted.has(numberHash)) return false;", ""],
    [
      "a probe's time has come before it is taken",
      "probeAt > now ? [false] : await",
      "await",
      ["dialAt: Math.max(dialAt, probeAt) }", "dialAt }"],
      [
        "if (open.every(({ value }) => value.probeAt <= dialAt)) return undefined;",
        "return undefined;",
      ],
    ],
    ["one caller wins a probe", "if (isTaken !== true) {", "if (isTaken === undefined) {"],
    ["probes come seldomer", "intervalMs: grown(intervalMs, last),", "intervalMs,"],
    [
      "a success closes the breaker",
      'const value = { ...standing.value, state: "closed" as const, closedAt: clock.now() };',
      "const value = { ...standing.value, closedAt: clock.now() };",
    ],
    [
      "a corrected plan starts closed",
      '`route:${createHash("sha256").update(JSON.stringify(route)).digest("hex").slice(0, 16)}`',
      "`route:${accountNameOf(route)}`",
    ],
  ]),
  ...mutantsOf(rules, [
    [
      "a row is written once sweeps will visit its backlog",
      'if (tries === writeTries) throw new Error("a backlog\'s document could not be written");',
      "if (tries === writeTries) return;",
    ],
    [
      "a backlog is used anew by who knows of no use",
      "value: { ...value, usedAt: now },",
      "value,",
    ],
  ]),
  ...mutantsOf(rules, [
    [
      "one sweep runs at a time",
      "if (standing !== undefined && standing.value.leaseUntil > now) return undefined;",
      "",
    ],
    [
      "a claim past its time becomes an unknown outcome",
      "const written = await ledger.write(changes);\nconst made = changes.flatMap(({ next }, index) => (written[index] === true ? next : []));\nfor (const row of made) {",
      "const written: boolean[] = [];\nconst made = changes.flatMap(({ next }, index) => (written[index] === true ? next : []));\nfor (const row of made) {",
    ],
    [
      "an unknown outcome that is due is called up",
      'const due = [...rows.values()].filter((row) => row.state === "UNKNOWN");',
      'const due = [...rows.values()].filter((row) => row.state === "PLACED");',
    ],
    [
      "the heartbeat is that of a full round",
      "fullRoundAt: isFull ? roundBeganAt : fullRoundAt,",
      "fullRoundAt: roundBeganAt,",
    ],
  ]),
  ...mutantsOf(
    [
      ...rules,
      "test/simulation/opening.test.ts",
      "test/unit/dialer/pace-order.test.ts",
      "test/simulation/long/rates.test.ts",
    ],
    [
      ["what waits is called up", "sent = await send(mine);", "sent = mine;"],
      [
        "what is called up and never came is called up again",
        "since > restartedAt && now <= until + hintLifeMs",
        "since > restartedAt",
      ],
      [
        "marks made before a restart do not count",
        "since > restartedAt && now <= until + hintLifeMs",
        "now <= until + hintLifeMs",
      ],
      [
        "a backlog that is used is not forgotten",
        "const hasEnded = value.nextDueAt === null && now - value.usedAt > unusedMs;",
        "const hasEnded = value.nextDueAt === null;",
      ],
      [
        "behind an open breaker only probes are called up",
        "return fresh.slice(0, times?.length).map(({ id, dueAt }, index) => ({",
        "return fresh.map(({ id, dueAt }, index) => ({",
      ],
      [
        "the backlogs of an account take turns",
        "const turn = countUpTo(keys, last) % Math.max(1, keys.length);",
        "const turn = 0;",
      ],
      [
        "what is past its time is called up though it is paused",
        "const over = page.filter(({ id }) => timeOfId(id) + lifeMs <= now);",
        "const over = page.filter(({ id }) => timeOfId(id) + lifeMs <= 0);",
      ],
      [
        "a paused backlog's rows are not called up",
        "if (route === undefined || isPaused(document.value.agentId, route, read)) still.push(seen);",
        "if (route === undefined) still.push(seen);",
      ],
      [
        "rows are marked before their places are taken",
        "const mine = turns.filter(({ backlog }) => marked.has(backlog));",
        "const mine = turns;",
      ],
      [
        "rows whose places others took meanwhile take later ones",
        "const lateMs = (places[0] ?? from) - from;",
        "const lateMs = 0;",
      ],
      [
        "without a pace a long queue is no loss",
        "until: isMoving && !isPaced ? Math.max(mark.until, now) : mark.until };",
        "until: mark.until };",
      ],
      [
        "marks move only past what the queue has acknowledged",
        "await writeBacklogs(back, deps);",
        "",
      ],
    ],
  ),
  ...mutantsOf(
    [...rules, "test/simulation/long/trouble.test.ts"],
    [
      [
        "a probe that failed goes behind the others",
        "return waiting(outcome.code, isProbe ? now : now + backoffMs(row.attempt, fraction));",
        "return waiting(outcome.code, isProbe ? wasDueAt : now + backoffMs(row.attempt, fraction));",
      ],
      [
        "a backlog without a route is looked at once an hour",
        "const over = page.filter(({ id }) => timeOfId(id) + lifeMs <= now);",
        "const over = page.slice(0, 0);",
      ],
      [
        "a row behind an open breaker is called up for its probes",
        "const open = route === undefined ? [] : openBreakers(agentId, route, documents);",
        "const open: ReturnType<typeof openBreakers> = [];",
      ],
      [
        "an account that stays unanswered opens its breaker",
        'if (isOver) await openBreaker(accountBreakerOf(route), code, "outage", read, deps);',
        "",
      ],
    ],
  ),
  ...mutantsOf(
    [...rules, ...unit("delivery")],
    [
      [
        "an account that hangs is sent two requests at once",
        "limits.set(account, wasAnswered ? Math.min(limitOf(account) * 2, windowMax) : windowMin);",
        "limits.set(account, Math.min(limitOf(account) * 2, windowMax));",
      ],
      [
        "no account has more than half of the requests while another's calls are left",
        "heldBy(account) < limitOf(account) && (heldBy(account) < half || !isShared(account));",
        "heldBy(account) < limitOf(account);",
      ],
    ],
  ),
];
