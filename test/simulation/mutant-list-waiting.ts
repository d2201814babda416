import { mutantsOf, type Mutant } from "./mutant.ts";

const rules = ["claimed", "waiting"].map((name) => `test/simulation/${name}.test.ts`);
const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

/** Rules about splitting, waiting, pacing, sweeps and dead letters. */
export const waitingMutants: readonly Mutant[] = [
  ...mutantsOf(unit("split"), [
    [
      "calls that must wait are written before the message is acknowledged",
      "await writeDecided(writes, deps, deadline);",
      "",
    ],
  ]),
  ...mutantsOf(unit("unreadable"), [
    [
      "an order that only a later version can read stops its own calls alone",
      "if (!(error instanceof z.ZodError)) throw error;",
      "if (error !== undefined) throw error;",
    ],
    [
      "a row of which a document is unreadable is not dispatched",
      "if (isLeftUnread(decision, row, deps)) continue;",
      "",
    ],
  ]),
  ...mutantsOf(unit("delivery", "unreadable", "claims"), [
    [
      "a ledger that cannot be read hands the delivery back",
      "return new Set(requested.map(({ id }) => id));",
      "return new Set();",
    ],
    [
      "a message that cannot be read comes again",
      "if (work === undefined) return false;",
      "if (work === undefined) return true;",
    ],
    [
      "an outcome that was not written comes again",
      "await settleOutcome(settlement, deps);\n    return true;",
      "void settleOutcome(settlement, deps).catch(() => undefined);\n    return true;",
    ],
  ]),
  ...mutantsOf(
    [...rules, ...unit("delivery", "unreadable", "claims")],
    [
      [
        "a row that only a later version can read is handed back",
        "const retry = new Set(plan.unreadable);",
        "const retry = new Set<string>();",
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
  ...mutantsOf(unit("time-limits"), [
    [
      "a dead letter is kept before it is acknowledged",
      "await withTimeLimit(deadLetters.keep(toLetterName(queue, id), body), storeSecondsMax);",
      "void body;",
    ],
  ]),
  ...mutantsOf(unit("dead-letters"), [
    [
      "a dead letter's call without a row comes to a person",
      'state: isOver ? "EXPIRED" : "NEEDS_REVIEW", reason',
      'state: "EXPIRED", reason',
    ],
    [
      "a dead letter's call that a restore may have lost is not told as undialed",
      'const reason = recent.some(isLost) ? "restored" : "dead_letter";',
      'const reason = recent.some(isLost) ? "dead_letter" : "dead_letter";',
    ],
    [
      "a row that was purged is not written anew",
      "acceptedAt >= oldestAccepted(at, deps)",
      "acceptedAt >= oldestAccepted(0, deps)",
    ],
    [
      "a stored dead letter that failed stays",
      'if (handled === "done") return deadLetters.remove(name);',
      "await deadLetters.remove(name);",
    ],
    [
      "a stored dead letter that ended its process is left alone by others",
      "if (isMine !== true) return;",
      "",
    ],
    [
      "a stored dead letter of a later version is tried once by a process",
      'if (handled === "unreadable") memory.lettersWaitUntil.set(name, Infinity);',
      "",
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
  ...mutantsOf(
    ["test/unit/cli/dead-command.test.ts"],
    [
      [
        "a dead letter is removed after its message was sent",
        "const message = new MessageText(body);",
        "await deps.deadLetters.remove(name); const message = new MessageText(body);",
      ],
    ],
  ),
  ...mutantsOf(rules, [
    [
      "rows stand for the plan's retention",
      "clock.now() - settings.plan.retentionDays * dayMs",
      "clock.now() - settings.plan.retentionDays * 3_600_000",
    ],
    [
      "what nobody has resolved is said before it is purged",
      'rows.filter(({ state }) => states[state].purge === "alarm");',
      'rows.filter(({ state }) => states[state].purge === "alarm" && state !== "NEEDS_REVIEW");',
    ],
  ]),
  ...mutantsOf(
    [...unit("pace"), ...rules],
    [
      [
        "a permitAt of the pace that has passed is void",
        "const isValid = late >= 0 && late <= (pace.intervalUs <= fastIntervalUsMax ? fast : slow);",
        "const isValid = late >= 0;",
      ],
      [
        "a request does not leave before its permitAt",
        "const isValid = late >= 0 && late <= (pace.intervalUs <= fastIntervalUsMax ? fast : slow);",
        "const isValid = late >= -5_000 && late <= slow;",
        ["(_, index) => permitTimes[index]", "(_, index) => (permitTimes[index] ?? 0) - 4_000"],
      ],
      [
        "permits that are asked for together are as many",
        "return paces.map((_, index) => permitTimes[index]);",
        "return paces.map(() => permitTimes[0]);",
      ],
    ],
  ),
  ...mutantsOf(rules, [
    [
      "a row is written once dispatchers will look at its backlog",
      'if (needed.size > 0) throw new ConflictError("a backlog\'s document could not be written");',
      "void ConflictError;",
    ],
    [
      "a backlog is used anew by who knows of no use",
      "value: { ...value, usedAt: now },",
      "value,",
    ],
  ]),
  ...mutantsOf(
    [...rules, ...unit("sweep", "unknown", "dispatcher-silent")],
    [
      [
        "one sweep runs at a time",
        "if (current !== undefined && current.value.leaseUntil > now) return undefined;",
        "",
      ],
      [
        "a claim past its time becomes an unknown outcome",
        "return expireClaim(row, unknownDueAt(row, at, deps), write);",
        "void at;\n        return undefined;",
      ],
      [
        "an unknown outcome that is due is dispatched",
        'if (row?.state !== "UNKNOWN" || row.route === null) return [];',
        'if (row?.state !== "PLACED" || row.route === null) return [];',
      ],
      [
        "the heartbeat is that of a full round",
        "fullRoundAt: isFull ? roundBeganAt : fullRoundAt,",
        "fullRoundAt: roundBeganAt,",
      ],
    ],
  ),
  ...mutantsOf(
    [...rules, ...unit("delivery")],
    [
      [
        "no account has more than half of the requests while another's calls are left",
        "heldBy(account) < limitOf(account) && (heldBy(account) < half || !isShared(account));",
        "heldBy(account) < limitOf(account);",
      ],
    ],
  ),
];
