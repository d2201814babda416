import { becomes, returns } from "./edits.ts";
import { toMutants } from "./mutant.ts";

/** Mutants of call-backs: somebody who is called twice for one wish, at another time, or for none. */
export const callBackMutants = toMutants(
  [
    "test/unit/dialer/call-backs.test.ts",
    "test/unit/dialer/promised-calls.test.ts",
    "test/unit/dialer/awaited-analyses.test.ts",
    "test/unit/policy/call-back.test.ts",
  ],
  [
    ["a call-back is made at the wished time", "withWish.decision", becomes("{ at: at + 1_000 }")],
    [
      "a retry that becomes a call-back waits for its time",
      "changeSuccessor.decision",
      becomes("{ at: deps.clock.now() }"),
    ],
    [
      "the successor's id comes from its place alone",
      "toNextTry",
      returns("{ id: row.id, dueAt }"),
    ],
    ["no retry follows a call-back", "toCallBackTries.budget", becomes("number + 1")],
    ["a call-back ends soon after its time", "toCallBackTries.until", becomes("Infinity")],
    ["a promised call goes ahead", "goesAhead", returns("isUrgent")],
    ["a paused promise ends by its own time", "findOver.mayBePromised", becomes("false")],
    ["a wish in a redial is answered", "awaitAnalysis.mayWish", becomes("mayBePromised")],
    ["the call-backs of a chain are counted", "toCallBackTries.made", becomes("callBacks.made")],
    ["analyses delay no results", "analysesLane", returns("resultsLane(of)")],
    ["an analysis is waited for", "findAnalysisPoll", returns("undefined")],
    ["a late analysis is left out", "lateUntil", returns("0")],
    ["accounts that the plan has lost are remembered", "sendPolls.known", becomes("[]")],
  ],
);
