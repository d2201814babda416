import { mutantsOf } from "./mutant.ts";
import { callbackMutants } from "./mutant-list-callbacks.ts";

const results = ["results", "results-kept", "provider-callbacks"].map(
  (name) => `test/unit/dialer/${name}.test.ts`,
);

/** Rules about the results of placed calls, and about callbacks. */
export const resultMutants = [
  ...mutantsOf(results, [
    [
      "a result that is told stays",
      "if (hasEnded(row.result)) {",
      "if (hasEnded(row.result) && row.id === '') {",
    ],
    [
      "a result that is unknown is replaced by an end alone",
      'if (row.result?.status === "unknown" && !hasEnded(result)) return undefined;',
      "",
    ],
    [
      "a call whose result is told is not asked about again",
      "if (isEnd) return { ...next, backlog: null, dueAt: null, updatedAt: at };",
      "if (isEnd) return { ...next, updatedAt: at };",
    ],
    [
      "the next asking comes later",
      "return { ...next, backlog: row.route && resultsBacklogOf(row.route), dueAt: pollAt };",
      "return next;",
    ],
    [
      "a call that a callback shows live is asked about",
      "return { ...next, backlog: row.route && resultsBacklogOf(row.route), dueAt: pollAt };",
      "return { ...next, dueAt: pollAt };",
    ],
    [
      "a placed call waits in the backlog of its account's results",
      ": { backlog: resultsBacklogOf(row.route), dueAt: pollAt }",
      ": {}",
    ],
    [
      "the result of a call that was found is asked for",
      "const pollAt = findNextPollAt(row, at, deps);",
      "const pollAt = undefined;",
    ],
    [
      "a result that no record tells is waited for, and not asked for",
      "return readCallback && claimedAt + polling.waitMinutes * minuteMs;",
      "return nextPollAt(claimedAt, deps.clock.now(), polling.waitMinutes);",
    ],
    [
      "the time for asking ends",
      "return now >= placedAt + waitMinutes * minuteMs;",
      "return now >= placedAt + waitMinutes * minuteMs * 100;",
    ],
    [
      "results are asked for ever more rarely",
      "minutes = 2 * minutes + 2;",
      "minutes += firstPollMinutes;",
    ],
    [
      "the last asking comes when the time is over",
      "Math.min(minutes, waitMinutes) * minuteMs",
      "minutes * minuteMs",
    ],
  ]),
  ...mutantsOf(results, [
    [
      "no poll is sent where results are off",
      "const planned = results === undefined ? [] : [",
      "const planned = [",
    ],
    [
      "a dialer whose plan does not poll for results gives none up",
      "if (settings.plan.results === undefined && account !== testAccounts) return;",
      "",
    ],
    [
      "a result is unknown by an answer that was asked for when the time was over",
      "isPolledLast(row.claimedAt, askedAt, waitMinutes)",
      "isPolledLast(row.claimedAt, at, waitMinutes)",
    ],
    ["an account is asked at its pace", "await clock.sleep(startAt + restMs - clock.now());", ""],
    ["an asking ends before the next sweep", "if (startAt >= endAt) return;", ""],
    [
      "a callback that failed comes again",
      'attempt >= hintAttemptsMax)) return "ack"; return retryLater(attempt);',
      'attempt >= hintAttemptsMax)) return "ack"; return "ack";',
    ],
    [
      "an account is asked once a delivery, and not for an old message",
      'if (isOld || known.isPolled) return "ack";',
      "",
    ],
    [
      "a hint is let go that the sweep makes up for",
      "(isHint(message) && attempt >= hintAttemptsMax)",
      "(isHint(message) && attempt > 99)",
    ],
    [
      "one record that fails does not end the asking",
      "if (failures === failuresMax) throw error;",
      "throw error;",
    ],
    [
      "an account that does not answer is left alone",
      "if (failures === failuresMax) throw error;",
      "",
    ],
    ["a record that fails is asked for later", "await postpone(row, deps);", ""],
    [
      "a record that cannot be read counts as no result",
      "if (!isUnreadable) throw new ProviderUnreachableError",
      "throw new ProviderUnreachableError",
    ],
  ]),
  ...mutantsOf(results, [
    [
      "a callback has an unknown outcome looked up",
      'if (found !== undefined && !("notPlaced" in found)) await settleFound(found, lookUp, deps);',
      "void found;",
    ],
    [
      "a callback is followed for a call that is left to a person",
      'if (placed === "perhaps") {',
      'if (placed === "perhaps" && row.state !== "NEEDS_REVIEW") {',
    ],
    [
      "a callback leaves a call that is being dialed to its holder",
      'if (placed === "now") return awaitHolder(attempt);\n  if (placed === "perhaps") {',
      'if (placed === "perhaps" || placed === "now") {',
    ],
    [
      "a callback that comes before its call's answer comes again soon after it",
      "const attemptsPerSecond = 40;",
      "const attemptsPerSecond = 4;",
    ],
    [
      "a callback that comes before its call's answer outlasts the call's claim",
      "const attemptsPerSecond = 40;",
      "const attemptsPerSecond = 100;",
    ],
    [
      "a callback has a placed call's record read",
      "if (row !== undefined) await pollNow(row, deps);",
      "",
    ],
    [
      "a callback of another claim is dropped",
      'if (call !== undefined && !row.claims.includes(call.claim)) return "ack";',
      "",
    ],
    [
      "a callback is not followed where results are off",
      'if (settings.plan.results === undefined) return "ack";',
      "",
    ],
    [
      "a callback proves nothing that no record shows",
      'if (found !== undefined && !("notPlaced" in found)) await settleFound(found, lookUp, deps);',
      'if (found !== undefined) await ("notPlaced" in found ? settleNotPlaced(found.notPlaced, lookUp, deps) : settleFound(found, lookUp, deps));',
    ],
    [
      "a callback's call is settled under its own claim",
      "const providerCallId = await findOwnId(found, lookUp, deps);\n  const claim = row.claims.at(-1);",
      'const providerCallId = await findOwnId(found, lookUp, deps);\n  const claim = "another";',
    ],
    [
      "a callback does not have a result read that is told",
      "if (hasEnded(row.result) ? !mayOptOut : age < freshMs) return;",
      "if (!hasEnded(row.result) && age < freshMs) return;",
    ],
    [
      "a callback does not have a record read that was read just now",
      "if (hasEnded(row.result) ? !mayOptOut : age < freshMs) return;",
      "if (hasEnded(row.result) && !mayOptOut) return;",
    ],
    [
      "a callback changes nothing where no record tells results",
      "if (readResult !== undefined) await pollOne(open, { endsOnly: false }, deps);",
      "void readResult;\n  await pollOne(open, { endsOnly: false }, deps);",
    ],
  ]),
  ...callbackMutants,
];
