import { mutantsOf, type Mutant } from "./mutant.ts";

/** Rules about checks before calls. */
export const checkMutants: readonly Mutant[] = mutantsOf(
  ["checks", "ask-check", "check-room"].map((name) => `test/unit/dialer/${name}.test.ts`),
  [
    [
      "an agent's checks are asked",
      "if (dial.route.checks !== undefined && dial.permission === undefined) {",
      "if (dial.route.checks === undefined && dial.permission === undefined) {",
    ],
    [
      "a check that fails permits nothing",
      'const failed = find("failed");',
      'const failed = find("failed") && undefined;',
    ],
    [
      "each check must permit the call",
      'const refused = find("refuse");',
      "const refused = undefined as { name: string; reason: string } | undefined;",
    ],
    [
      "an answer is valid for a time alone",
      'if (permission !== undefined && now > permission.validUntil) return toWaiting("check_outdated", claim);',
      "void permission;",
    ],
    [
      "an answer of an earlier claim is looked at for its age",
      "check === name && at <= now && now + claimAgeMsMax < at + validMsOf(check, delivery),",
      "check === name,",
    ],
    ["who must never be called is listed", "await putEntries([listed], deps);", "void listed;"],
    [
      "five failures in a row open the breaker of a check",
      'await openBreaker(key, { cause: "check", code: answer.code, sentAt }, deps);',
      "void openBreaker;",
    ],
    [
      "a valid answer closes the breaker of a check",
      "if (breaker !== undefined) await answerBreaker(breaker, { isPlaced: true, sentAt }, deps);",
      "void answerBreaker;",
    ],
    [
      "an open breaker of a check lets a probe through alone",
      "return (await probe.take([breaker])) ? probe : undefined;",
      "return probe;",
      [
        "return route.checks === undefined ? own : [...own, ...route.checks.map(checkBreakerOf)];",
        "void checkBreakerOf;\n  return own;",
      ],
    ],
    [
      "a check is asked at its pace",
      "return (await documents.takePermits(key, pace, window))[0];",
      "void documents; void key; void pace;\n  return window.notBefore;",
    ],
    [
      "a check whose call cannot go is not asked",
      "(await findObstacle(dial, delivery)) ?? (await findFullCap(dial, delivery));",
      "await findObstacle(dial, delivery);",
    ],
    [
      "a call with checks does not go at once",
      'if (route.checks !== undefined) return "turn";',
      "",
    ],
    [
      "a call waits longer the longer its check fails",
      "return now + Math.min(Math.max(now - since, firstMs), retryMsMax);",
      "void since;\n  return now + Math.min(firstMs, retryMsMax);",
    ],
    [
      "a row in a check counts as in flight",
      "now - at > leftMs + checkMsOf(row.backlog)",
      "now - at > leftMs",
    ],
    [
      "a row in a check counts as dispatched for longer",
      "} else if (now - row.at > sentMsMax + checkMsOf(backlog)) {",
      "} else if (now - row.at > sentMsMax) {",
    ],
    [
      "a slow check leaves half of an account to its other agents",
      "const own = checked.has(account) ? Math.min(share, half) : share;",
      "const own = share;",
    ],
    [
      "the evidence stands in the history",
      "...(checks === undefined ? claimed : withPassedChecks(claimed, checks)),",
      "...claimed,",
    ],
    [
      "who must never be called is in the journal, for restores",
      'await appendEntry({ kind: "list", entries: [listed] }, deps);',
      "",
    ],
    [
      "all checks leave half of the connections to calls",
      "limits.set(check, Math.max(1, Math.floor(Math.ceil(concurrency / 2) / checks.size)));",
      "limits.set(check, Math.ceil(concurrency / 2));",
    ],
    [
      "backlogs beyond the room of their checks are left out",
      "if (rooms.some(({ room }) => room <= 0)) continue;",
      "",
    ],
    [
      "chance decides whose calls wait for a check",
      "place: random.fraction() + (isUnknown ? 1 : 0)",
      "place: isUnknown ? 1 : 0",
    ],
    [
      "calls that wait for a check leave half of an account to others",
      "const places = backlogs > own.backlogs ? Math.floor(most) : Infinity;",
      "const places = Infinity + most * backlogs;",
    ],
  ],
);
