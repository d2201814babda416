import { mutantsOf, type Mutant } from "./mutant.ts";

/** Rules about the guards: calls of a day, and of a client that wait. */
export const guardMutants: readonly Mutant[] = [
  ...mutantsOf(
    ["test/unit/api/client-guards.test.ts"],
    [
      [
        "no more calls of a day are counted than its limit",
        "if (total <= limit) return { isCounted: true, total };",
        "if (total - calls <= limit) return { isCounted: true, total };",
      ],
      [
        "calls above the limit are given back",
        "{ calls: -calls, refused: 1 }",
        "{ calls: 0, refused: 1 }",
      ],
      [
        "a repeat of an accepted request is not counted again",
        "if (origin.isReplay) await giveBack();",
        "",
      ],
      [
        "a request above a limit binds no key",
        'return findOrigin(c, { ...request, refusals: [{ pointer: "", detail: refusal }] }, deps);',
        "const o = await findOrigin(c, request, deps); return o instanceof Response || o.isReplay ? o : answerUnreachable(c, { requestId, error: refusal }, deps);",
      ],
      [
        "a request that is refused is given back",
        "if (origin.status === 422) await giveBack();",
        "",
      ],
      [
        "calls that may come again under their key stay counted",
        "return isKeyed ? origin : { ...origin, giveBack };",
        "return { ...origin, giveBack };",
      ],
      ["calls that the queue did not take are given back", "await origin.giveBack?.();", ""],
      [
        "calls since the last count are taken for waiting",
        "const most = last.waiting + Math.max(calls, total - last.calls);",
        "const most = last.waiting + calls;",
      ],
      [
        "the waiting calls of yesterday's count are not those of today",
        "if (last !== undefined && dayOf(last.at) === dayOf(at) && last.calls <= total - calls) {",
        "if (last !== undefined) {",
      ],
      [
        "calls that were given back are not taken for counted ones",
        "if (last !== undefined && dayOf(last.at) === dayOf(at) && last.calls <= total - calls) {",
        "if (last !== undefined && dayOf(last.at) === dayOf(at)) {",
      ],
      [
        "waiting rows are counted for their client alone",
        "const backlogs = listed.flatMap(({ key }) => (key.startsWith(prefix) ? { key } : []));",
        "const backlogs = listed.map(({ key }) => ({ key }));",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/dialer/account-days.test.ts"],
    [
      [
        "an account places no more calls a day than it may",
        '(isInDay ? undefined : toWaiting("calls_per_day", claim)) ??',
        "",
      ],
      [
        "a call that was not placed leaves its account's day",
        "if (claim.isInDay === true) await leaveDay({ row, route: dial.route }, deps);",
        "",
      ],
      [
        "a call that was not counted is not given back",
        "if (claim.isInDay === true) await leaveDay({ row, route: dial.route }, deps);",
        "await leaveDay({ row, route: dial.route }, deps);",
      ],
      [
        "a full account's calls are not dispatched",
        'if (dayFree <= 0) return { count: 0, most: inFlight, why: "calls_per_day" };',
        "",
        [
          "const room = Math.min(opened, linesFree, dayFree);",
          "const room = Math.min(opened, linesFree);",
        ],
      ],
      [
        "days are counted one by one",
        'return { kind: "day-counts", key: JSON.stringify([...(name ?? []), dayTextOf(at)]) };',
        'return { kind: "day-counts", key: JSON.stringify(name ?? []) };',
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/dialer/result-breaker.test.ts"],
    [
      [
        "the latest thirty answered calls are looked at",
        '(answered + (isShort ? "s" : "l")).slice(-answeredMax)',
        'answered + (isShort ? "s" : "l")',
      ],
      ["a call of three seconds is short", "lasted <= shortSeconds", "lasted < shortSeconds"],
      [
        "twenty short calls lead to a pause",
        'answered.split("s").length - 1 >= shortMax',
        'answered.split("s").length >= shortMax',
      ],
      [
        "a call that a machine answered is not short",
        'if (status !== "completed") return undefined;',
        'if (status !== "completed" && status !== "voicemail") return undefined;',
      ],
      [
        "a call that rang ends the blocked ones in a row",
        'return status === "failed" || status === "invalid" || status === "unknown" ? before : 0;',
        "return before;",
      ],
      [
        "blocked calls are counted by caller id",
        "const callerId = callerIdOf({ route });",
        "const callerId = callerIdOf({ route }).slice(0, 1);",
      ],
      [
        "results from before a pause do not count after it",
        "if (result === null || (claimedAt ?? 0) <= since) continue;",
        "if (result === null) continue;",
      ],
      [
        "an agent is not paused again by the results that have paused it",
        'return { ...known, answered: "", blocked: {}, since: at };',
        "return { ...known, since: at };",
      ],
      [
        "an operator's pause stays as it is",
        "return isOpenEnded ? undefined : {",
        "return isOpenEnded && at < 0 ? undefined : {",
      ],
      [
        "an agent that its results pause does not go on when an operator's pause ends",
        "paused !== undefined && paused.until === undefined",
        "paused !== undefined",
      ],
    ],
  ),
  ...mutantsOf(
    ["test/unit/dialer/caller-ids.test.ts"],
    [
      [
        "a number that rests is not called from",
        "callerIds.filter((number) => (numbers[number]?.restsUntil ?? 0) <= now)",
        "callerIds.filter((number) => (numbers[number]?.restsUntil ?? 0) <= Infinity)",
      ],
      [
        "a callee is called from a number of its area first",
        "[near, ofCountry, rested].find(",
        "[ofCountry, rested].find(",
      ],
      [
        "a callee is called from a number of its country before any other",
        "[near, ofCountry, rested].find(",
        "[near, rested].find(",
      ],
      [
        "a number that leaves the pool moves its own callees alone",
        "candidates.toSorted((one, other) => weigh(callee, other) - weigh(callee, one))",
        "[candidates[weigh(callee, String()) % candidates.length] ?? String()]",
      ],
      [
        "calls wait while all numbers of the pool rest",
        'if (chosen === undefined) return wait(row, "caller_ids", now);',
        'if (chosen === undefined) return { kind: "dial", route, dialAt };',
      ],
      [
        "a pool whose numbers rest is not dispatched",
        "|| isPoolResting(route, { documents: state, now })",
        "",
      ],
      [
        "a number rests after ten blocked calls",
        "if (blocked < blockedMax) numbers.set(number, { ...before, blocked });",
        "if (blocked <= blockedMax) numbers.set(number, { ...before, blocked });",
      ],
      [
        "results of calls from before a rest do not count",
        "if (result === null || (claimedAt ?? 0) <= before.since) continue;",
        "if (result === null) continue;",
      ],
      [
        "a resend has the number of the first request",
        "const along = (isResend ? before.route : null) ?? route;",
        "const along = route;",
        [
          'return { kind: "dial", call, row, route, dialAt: Math.max(now, row.dueAt ?? 0) };',
          'return { kind: "dial", call, row, route: { ...route, ...findRoute(call.request.agent_id, plan) }, dialAt: Math.max(now, row.dueAt ?? 0) };',
        ],
      ],
    ],
  ),
];
