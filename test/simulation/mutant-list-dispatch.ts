import { mutantsOf, type Mutant } from "./mutant.ts";

const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

/** Rules about the life of a dispatcher, and about calls that are dialed as they come. */
export const dispatchMutants: readonly Mutant[] = [
  ...mutantsOf(unit("dispatcher", "dispatches", "wake-dispatcher", "fresh-calls"), [
    [
      "one dispatcher runs at a time",
      "if (hasTime && isBeating(current.value, now)) return undefined;",
      "",
    ],
    [
      "a dispatcher that has run its time is followed",
      "const hasTime = current !== undefined && now - current.value.since < dispatcher.lifeMs;",
      "const hasTime = current !== undefined;",
    ],
    [
      "a dispatcher that does not beat is followed",
      "now - dispatcher.beatAt < beatMsMax",
      "dispatcher.beatAt > 0",
    ],
    [
      "a dispatcher takes over on the version that it has read",
      "const [isMine] = await documents.write([{ next, seen: current?.version ?? null }]);\n    if (isMine === true) return next;",
      "await documents.write([{ next, seen: current?.version ?? null }]);\n    return next;",
    ],
    [
      "a dispatcher ends once another one has taken over",
      "if (beaten === undefined) return;",
      "if (beaten === undefined) continue;",
    ],
    [
      "a dispatcher that ends gives its place back",
      "await beat(lease, { ...outliving, holder: null }, deps);",
      "void lease; void outliving; void deps;",
    ],
    [
      "a dispatcher that ends looks once more",
      "await readAll(looks, deps);\n  return isIdle(looks, deps.clock.now());",
      "return true;",
    ],
    [
      "a dispatcher does not end while a row is due soon",
      "const by = now + soonMs;\n  return !view.allowed().some(",
      "const by = now + soonMs;\n  return by > 0 || !view.allowed().some(",
    ],
    [
      "a dispatcher does not end while calls are in flight",
      "if (inFlight.sentIn().size > 0 || view.isReading()) return false;",
      "if (view.isReading()) return false;",
    ],
    [
      "who writes a row that is due wakes a dispatcher",
      "if (!isBeating(dispatcher?.value, now)) await wakeDispatcher();",
      "",
    ],
    [
      "a dispatcher that beats is not woken",
      "if (!isBeating(dispatcher?.value, now)) await wakeDispatcher();",
      "await wakeDispatcher();",
    ],
    [
      "nobody is woken for rows that are due much later",
      "if (!dueAt.some((time) => time <= now + soonMs)) return;",
      "",
    ],
    [
      "a row that comes back after an answer wakes a dispatcher",
      'if (dueAt !== undefined && state === "WAITING") await wakeForRows([dueAt], deps);',
      "",
    ],
    [
      "a loop ends before its invocation does",
      "if (clock.now() >= endAt || left < lookQueries) break;",
      "if (clock.now() >= endAt + 60_000 || left < lookQueries) break;",
    ],
  ]),
  ...mutantsOf(
    ["test/simulation/turns.test.ts"],
    [
      [
        "the queries of a loop last for its life",
        "return Math.min(lookEveryMsMax, Math.max(lookEveryMs, msLeft / looksLeft));",
        "return lookEveryMs;",
      ],
      [
        "a loop ends before the platform's queries do",
        "if (clock.now() >= endAt || left < lookQueries) break;",
        "if (clock.now() >= endAt) break;",
      ],
    ],
  ),
  ...mutantsOf(unit("between-looks", "dispatches"), [
    [
      "a dispatcher hands the rows of the next permitTimes on",
      "for (const row of notes.sentBefore()) inFlight.send(row);",
      "",
    ],
    [
      "a dispatcher notes what it has chosen",
      "return [account, { ...entry, sent: kept }];",
      "return [account, { ...entry, sent: [] }]; void kept;",
    ],
    [
      "rows that the queue refuses are free again",
      "dueRows.forget(inFlight.forget(refused));",
      "void refused;",
    ],
    [
      "claims of dead dialers hold no allowance",
      "if (!isOver(call)) dialing.put(",
      "if (!isOver(call) || call.id) dialing.put(",
    ],
    [
      "rows that their delivery has left are free again",
      "message?.isBegun === true && !underWay.has(message);",
      "message === undefined && underWay.has(message) && now < 0;",
    ],
    [
      "a pause that is over is no reason any more",
      "for (const account of entries.keys()) change(account, { why: null });",
      "",
    ],
  ]),
  ...mutantsOf(unit("fresh-calls", "breakers", "pace", "orders", "split"), [
    [
      "rows that an open breaker has refused are free again",
      "(isLeft || at < refusesUntil(row)) && now - at > leftMs",
      "(isLeft || (refusesUntil(row) < 0)) && now - at > leftMs",
    ],
    [
      "a fresh call waits behind a breaker that is not closed",
      'if (listNotClosedBreakers(of, route, documents).length > 0) return "breaker_open";',
      "",
    ],
    [
      "a fresh call waits where its account is not known to be quick",
      'if (!quick || busy || now - acceptedAt > freshMsMax) return "turn";',
      'if (busy || now - acceptedAt > freshMsMax) return "turn"; void quick;',
    ],
    [
      "a fresh call waits where its account is busy",
      'if (!quick || busy || now - acceptedAt > freshMsMax) return "turn";',
      'if (!quick || now - acceptedAt > freshMsMax) return "turn"; void busy;',
    ],
    [
      "a call whose message is old waits for its turn",
      'if (!quick || busy || now - acceptedAt > freshMsMax) return "turn";',
      'if (!quick || busy) return "turn"; void acceptedAt;',
    ],
    [
      "a fresh call waits for a permit two seconds at most",
      'if (permitAt !== undefined && permitAt > now + freshPermitMsMax) return "pace";',
      "",
    ],
    [
      "a delivery dials as many fresh calls of an account as it has requests at once",
      'return (ahead.get(account) ?? 0) >= most ? "turn" : undefined;',
      "return undefined;",
    ],
    [
      "a request of many calls becomes rows",
      'const waits = { state: "WAITING", reason: "turn", dueAt: known.now } as const;',
      'const waits = { state: "WAITING", reason: "turn", dueAt: known.now + 600_000 } as const;',
    ],
    [
      "a row that must wait stays as it is",
      'if (row !== undefined) return { kind: "leave", because: reason };',
      "",
    ],
  ]),
  ...mutantsOf(unit("waits"), [
    [
      "a look that fails does not count as one",
      "await readAll(looks, deps); const chosen = await choose(looks, deps); looks.lookedAt = clock.now();",
      "looks.lookedAt = clock.now(); await readAll(looks, deps); const chosen = await choose(looks, deps);",
    ],
    [
      "a backlog whose dispatches the queue refuses waits without need",
      "waits.note({ left: [...left, ...unsent], isUnknown }, clock.now());",
      "waits.note({ left, isUnknown }, clock.now()); void unsent;",
    ],
    [
      "the notes of backlogs that wait outlive a dispatcher",
      "waits: createWaits(former.waits),",
      "waits: createWaits(),",
    ],
    [
      "a backlog waits with need where its account may dispatch no more",
      "return leftOf(accountIn(shares, one)) > 0 && leftIn(shares, one) > 0;",
      "return true;",
    ],
  ]),
];
