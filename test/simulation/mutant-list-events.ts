import { mutantsOf } from "./mutant.ts";

const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);
const told = unit("events-kept", "finished-requests", "events-of-others", "events");

/** Rules about the events that receivers are told. */
export const eventMutants = [
  ...mutantsOf(told, [
    [
      "an event is told of its write alone",
      "written[index] === true && next.events !== changes[index]?.next.events;",
      "next.events === changes[index]?.next.events;",
    ],
    [
      "a request is noted before its first row",
      "const isFirst = seen === null && indexOf(next.id) === 0 && !isLaterTry(next);",
      "const isFirst = seen !== null && indexOf(next.id) === 0 && !isLaterTry(next);",
    ],
    [
      "a request is noted with all of its calls",
      "calls: batchCalls, ...counted",
      "calls: 1, ...counted",
    ],
    [
      "a row stands though its message could not be sent",
      'log("warning", "events.not_sent", { count: changes.length, error: errorForLog(error) });',
      "throw error;",
    ],
  ]),
  ...mutantsOf(told, [
    ["an event is told of once", "events.findIndex((event) => isSame(event, one));", "-1;"],
    [
      "an event is of a type that the receiver wants",
      "const isPlans = isForPlan && receiver?.types.includes(one.type) === true;",
      "const isPlans = isForPlan && receiver !== undefined;",
    ],
    [
      "no id of an event that a restore took away is given to another",
      "const least = isRestored ? sequenceAfterRestore : 1;",
      "const least = 1;",
    ],
    [
      "the events of a call are numbered",
      "Math.max(least, (events.at(-1)?.sequence ?? 0) + 1),",
      "least,",
    ],
    [
      "a call is answered once it is completed",
      'const isByEnd = status === "completed" || status === "voicemail";',
      "const isByEnd = false;",
    ],
    [
      "a call is not ended while it is live",
      'const isEnded = result !== null && result.status !== "live";',
      "const isEnded = result !== null;",
    ],
    ["a call ends twice where the first end was unknown", "? known.status === status", "? true"],
    [
      "an answer is told once",
      'new Set(["call.answered", "call.opt_out"]);',
      'new Set(["call.opt_out"]);',
      ["isOnce.has(type) || known.state === state;", "isOnce.has(type);"],
    ],
    [
      "an operator's decision is told as such",
      "return type === null ? { at } : { type, at };",
      "return type === null || by !== undefined ? { at } : { type, at };",
    ],
    [
      "a step that leaves the state as it is tells nothing",
      "history.findLastIndex((one) => one.state !== state);",
      "history.length - 2;",
    ],
    [
      "an answer's time is that of its event",
      "...(aboutResults.has(type) && answeredAt !== undefined ? { answeredAt } : {})",
      "...{}",
    ],
    [
      "an end that was unknown says nothing of the end that replaced it",
      "if (hasEnded(result) && status === result.status) return toResultView(result);",
      "return toResultView(result);",
    ],
    [
      "a row is listed by its next due event",
      "if (deliverAt !== undefined) return { ...row, deliverTo: pendingOf(receiver), deliverAt };",
      "",
    ],
    [
      "a row with an event whose tries are used up is listed as such",
      "return { ...row, deliverTo: exhaustedOf(receiver), deliverAt: last.at };",
      "return { ...row, deliverTo: null, deliverAt: null };",
    ],
  ]),
  ...mutantsOf(told, [
    [
      "two tries at the same permitAt count once",
      '(outcome.kind === "taken" || dueAt === tried.dueAt);',
      "true;",
    ],
    [
      "an event that is taken is told no more",
      'if (outcome.kind === "taken") return { tries: undefined, dueAt: undefined, exhausted: undefined };',
      "",
    ],
    [
      "a probe that fails counts for no try",
      "return { tries, dueAt: Math.max(now, dueAt ?? now) };",
      "return { tries: tries + 1, dueAt: Math.max(now, dueAt ?? now) };",
    ],
    [
      "the tries of an event end",
      "if (wait === undefined) return { tries: tries + 1, dueAt: undefined, exhausted: true };",
      "if (wait === undefined) return { tries: tries + 1, dueAt: now + 86_400_000 };",
    ],
    [
      "a receiver's own wish for a later try counts",
      "dueAt: now + Math.max(wait, asked)",
      "dueAt: now + wait",
    ],
    [
      "tries are ever farther apart",
      "const wait = waitsMs[tries];",
      "const wait = tries < 9 ? waitsMs[0] : undefined;",
    ],
  ]),
  ...mutantsOf(told, [
    [
      "a message that the next sweep has replaced is dropped",
      "const isOld = ({ sentAt }: DeliverMessage) => clock.now() - sentAt > sweepSeconds * 1000;",
      "const isOld = ({ sentAt }: DeliverMessage) => sentAt < 0 && sweepSeconds > 0;",
    ],
    [
      "a slow receiver is told by sweeps alone",
      "fresh.filter(({ message }) => message.swept || !lease.isSweptOnly);",
      "fresh;",
    ],
    [
      "what is left waits once the breaker is open",
      "|| (breaker.isOpen && !delivery.isProbe);",
      ";",
    ],
    [
      "a probe that fails leaves its event's tries",
      'if (isProbe) return { kind: "deferred" };',
      "",
    ],
    [
      "late permits make no burst",
      "delivery.nextAt = startAt + 1000 / receiver.requestsPerSecond;",
      "delivery.nextAt += 1000 / receiver.requestsPerSecond;",
    ],
    [
      "a receiver is told at its pace",
      "await clock.sleep(startAt - clock.now()); using slot = await slots.acquire(slotOf(receiver)); if (slot === undefined) delivery.isCrowded = true;",
      "using slot = await slots.acquire(slotOf(receiver)); if (slot === undefined) delivery.isCrowded = true;",
    ],
    [
      "a receiver holds two thirds of the requests",
      "const atOnce = isSlow ? 1 : concurrency - Math.floor(concurrency / 3);",
      "const atOnce = isSlow ? 1 : concurrency;",
    ],
    ["what became of a try is written", "await writeDeliveries(delivered, receiver, deps);", ""],
  ]),
  ...mutantsOf(told, [
    [
      "an event is told no sooner than it is due",
      "return dueAt <= now || (tries === 0 && dueAt < Infinity);",
      "return dueAt < Infinity;",
    ],
    [
      "a write of tries is repeated where another writer came first",
      "left = changes.flatMap(({ next }, index) => (done[index] === true ? [] : next.id));",
      "left = [];",
    ],
    [
      "an event that is due again within seconds has a message of its own",
      "if (times.some((dueAt) => isDueSoon(dueAt, at))) written.pending.push(next.id);",
      "",
    ],
    [
      "the message that tells again waits until it is due",
      "({ ...one, delaySeconds: retrySeconds })",
      "({ ...one, delaySeconds: 0 })",
    ],
    [
      "an operator learns of tries that are used up",
      'if (exhausted > 0 && receiver.own === undefined) log("alarm", "events.exhausted", { receiver: receiver.name, count: exhausted });',
      "",
    ],
  ]),
  ...mutantsOf(told, [
    [
      "failures that open a breaker are in a row",
      "if (stored !== undefined) await writeFailures(stored, {}, deps);",
      "",
    ],
    [
      "ten failures open a receiver's breaker",
      '(counters["inRow"] ?? 0) >= failuresMax;',
      '(counters["inRow"] ?? 0) >= failuresMax * 100;',
    ],
    [
      "a receiver that is gone is left alone at once",
      'return "status" in answer && answer.status === goneStatus;',
      "return false;",
    ],
    [
      "a probe that is taken closes the breaker",
      "await answerBreaker(current, { isPlaced: true, sentAt }, deps);",
      "void answerBreaker; void sentAt;",
    ],
    [
      "an answer that is no success is none",
      '"status" in answer && answer.status >= 200 && answer.status < 300;',
      '"status" in answer;',
    ],
  ]),
  ...mutantsOf(told, [
    [
      "a sweep has a receiver probed with one event",
      "return breaker.probeAt > now ? 0 : 1;",
      "return 0;",
    ],
    [
      "an operator learns that a receiver is told late",
      'log("alarm", "events.late", { receiver: name, due_at: new Date(dueAt).toISOString() });',
      "",
    ],
  ]),
  ...mutantsOf(told, [
    [
      "a request is finished once all of its calls are over",
      "const isComplete = finished === value.calls;",
      "const isFinished = true;",
    ],
    [
      "a call that is not over ends the count",
      "if (row === undefined || !isFinished(row, clock.now())) return counted;",
      "if (row === undefined) return counted;",
    ],
    [
      "a request is told though it was noted anew",
      "if (value.finished === 0 && (await isDeliveredAlready(request, deps))) {",
      "if (value.finished < 0 && (await isDeliveredAlready(request, deps))) {",
    ],
    [
      "a finished request is counted as its calls are then",
      "const counted = isWhole ? passed : await countFinished(request, 0, deps);",
      "const counted = passed;",
    ],
    [
      "a request waits for a call that is not over any more",
      "const isComplete = finished === value.calls;",
      "const isFinished = isAtEnd;",
    ],
    [
      "a sweep counts few calls",
      "if (time.isOver() || calls >= callsMax) return last;",
      "if (time.isOver()) return last;",
    ],
    [
      "a sweep goes on behind the request that the former one counted last",
      "calls += await trackOne(request, deps); last = request.key;",
      "calls += await trackOne(request, deps);",
      [
        "if (time.isOver() || calls >= callsMax) return last;",
        "if (time.isOver() || calls >= callsMax) return page.at(-1)?.key ?? null;",
      ],
    ],
    [
      "a receiver is told of its own clients alone",
      "? findReceiver(client, settings.plan)?.name === receiver.name",
      "? findReceiver(client, settings.plan) !== undefined",
    ],
    [
      "what stands in another receiver's list is put into its own",
      "if (changes.length > 0) await ledger.write(changes); } /** True if an event may be delivered",
      "} /** True if an event may be delivered",
    ],
    ["a finished request ends some day", "(expiresAt ?? now) + pendingKeptMs", "null"],
    [
      "a finished request that was not told is told by the next sweep",
      "await eventsQueue.sendMany(toDeliverMessages(name, { requests, swept: true }, now));",
      "",
    ],
    [
      "a told request has no document",
      "await documents.remove([{ ...name, seen: current.version }]);",
      "",
    ],
    [
      "a try to deliver a finished request is noted",
      "const [isWritten] = await documents.write([{ next, seen: current.version }]); if (isWritten === true) return value;",
      "return value;",
    ],
  ]),
  ...mutantsOf(unit("event-turns"), [
    [
      "one delivery at a time tells a receiver",
      "if (lease.isTaken) return { ids: idsOf(messages) };",
      "",
      ["if (!(await lease.take())) return { ids: idsOf(messages) };", "await lease.take();"],
    ],
    [
      "a lease that was taken meanwhile is another delivery's",
      "const [isWritten] = await documents.write([{ next, seen }]); seen = version; return isWritten === true;",
      "await documents.write([{ next, seen }]); seen = version; return true;",
    ],
    [
      "a delivery ends its lease",
      "if (isOwnReceiver(receiver)) await recordDeliveries(tried, receiver, deps); await lease.release({ nextAt, isSlow, ...breaker.stored?.() });",
      "void recordDeliveries; void tried; void nextAt; void isSlow;",
    ],
    [
      "a lease of a delivery that died lapses",
      "isTaken: leaseUntil > clock.now(),",
      "isTaken: leaseUntil > 0,",
    ],
    ["a turn is short", "const turnMs = 1_000;", "const turnMs = 45_000;"],
    [
      "a message whose receiver another delivery tells comes again",
      'if (![...calls, ...requests].some((id) => ids.has(id))) return "ack";',
      'if (left.afterSeconds === undefined || ![...calls, ...requests].some((id) => ids.has(id))) return "ack";',
    ],
    [
      "a turn goes on with what others had no time for",
      "while (messages.some(({ attempt, message }) => attempt > 1 || message.isAgain === true)) {",
      "while (messages.some(({ attempt }) => attempt > 1000)) {",
    ],
    [
      "a receiver that hangs gets one request at a time",
      "const atOnce = isSlow ? 1 : concurrency - Math.floor(concurrency / 3);",
      "const atOnce = isSlow ? 4 : concurrency - Math.floor(concurrency / 3);",
    ],
    [
      "the next delivery knows a receiver that hangs",
      "const { nextAt, tried, isSlow = lease.isSlow } = delivery;",
      "const { nextAt, tried } = delivery; const isSlow = false;",
    ],
    ["a receiver that answers again is slow no more", "delivery.isSlow ??= false;", ""],
    [
      "the next delivery keeps to a receiver's pace",
      "delivery = { ...turn, endAt, nextAt: lease.nextAt, isProbe: false, tried: [] };",
      "delivery = { ...turn, endAt, nextAt: 0, isProbe: false, tried: [] };",
    ],
    [
      "a message waits a second for what hangs in its delivery",
      "waitMsMax: slotMsMax,",
      "waitMsMax: Infinity,",
    ],
    [
      "a message comes again though something holds its delivery",
      "left > 0 && isSoon(result) ? await sendAnew(message, result, ready) : result;",
      "result; void sendAnew;",
    ],
    [
      "a receiver that hangs has to wait for the next sweep",
      "if (breaker.isOpen || delivery.isHanging === true) return",
      "if (breaker.isOpen) return",
    ],
    [
      "a sweep has a slow receiver told of few events",
      'if (read.get("receiver", name)?.value.isSlow === true) return slowEventsMax;',
      "",
    ],
  ]),
  ...mutantsOf(unit("replayed-events"), [
    [
      "a try that ends late says nothing of a replay",
      "finishedAt !== tried.finishedAt) return undefined;",
      "finishedAt === undefined) return undefined;",
      [
        "await documents.remove([{ ...name, seen: current.version }]);",
        "await documents.remove([name]);",
      ],
    ],
    [
      "a replay is told though a late try has noted the telling before it",
      "delivered.value.finishedAt > replayedAt;",
      "delivered.value.finishedAt > 0;",
    ],
  ]),
  ...mutantsOf(unit("orphaned-events"), [
    [
      "an operator learns of events whose receiver has left the plan",
      'log("alarm", "events.orphaned", { receiver });',
      ";",
    ],
    [
      "a receiver that has left the plan is not forgotten",
      "return { receivers, orphanedAt: now };",
      "return { receivers: present, orphanedAt: now };",
    ],
  ]),
  ...mutantsOf(unit("dead-events"), [
    [
      "a signed callback that failed each time is followed once more",
      "await followCallback(message, attempt, withPortLimits(deps))",
      '(void followCallback, void withPortLimits, "retry")',
    ],
    [
      "a signed callback that failed each time is stored",
      'if (isHint(message) || message.kind !== "callback") {',
      "if (isHint(message) || message.kind) {",
    ],
    [
      "what no version can read of the events is kept",
      'if (message === undefined) return "unreadable"; if (isHint(message) ||',
      'if (message === undefined) return "done"; if (isHint(message) ||',
    ],
    [
      "a signed callback is no hint",
      'message.kind !== "callback" || message.signed === undefined;',
      "true || message.kind;",
    ],
    [
      "an operator learns of a signed callback that failed each time",
      'log("alarm", "message.dead_lettered", { message_kind, provider, attempt, ...ofCall });',
      "void [message_kind, provider, ofCall];",
    ],
  ]),
  ...mutantsOf(unit("opt-out"), [
    [
      "the number of a callee who asks for it is never called again",
      "await list(row, deps);",
      "void list;",
    ],
    [
      "a callee's wish is noted once",
      "if (row.optedOut) return true;",
      "",
      [
        "if (told.optedOut === true && placed !== undefined && !placed.optedOut) {",
        "if (told.optedOut === true && placed !== undefined) {",
      ],
    ],
    [
      "a callee's wish is noted though another writer came first",
      "if (!(await optOut(placed, deps))) throw conflict;",
      "await optOut(placed, deps);",
    ],
  ]),
];
