import { describe } from "vitest";
import { itLetsOperatorsIn } from "./access.ts";
import { itListsTheAuditLog } from "./audit.ts";
import { itActsInBulk } from "./bulk.ts";
import { itShowsCalls } from "./calls.ts";
import { itCountsCalls } from "./counts.ts";
import { itPutsDeadLettersBack } from "./dead-letters.ts";
import { itActsOnCalls } from "./decisions.ts";
import { itKeepsTheDoNotCallList } from "./do-not-call.ts";
import { itErasesNumbers } from "./erase.ts";
import { itReplaysEvents, itShowsReceivers } from "./events.ts";
import { itListsByName } from "./lists.ts";
import { itPausesCalls } from "./pauses.ts";
import { itShowsHowFarItIs } from "./requests.ts";
import { itConfirmsRestores } from "./restores.ts";
import { type OperatorApiUnderTest, useOperatorApi } from "./setup.ts";
import { itFindsSpelledNumbers } from "./spelled-numbers.ts";
import { itPlacesCallsForClients } from "./send.ts";
import { itMakesTokens } from "./tokens.ts";

/** Describes the operator's API on any platform, under `apiEnvironment`. Each test has calls of its own. */
export function describeOperatorApi(name: string, create: () => OperatorApiUnderTest): void {
  describe(`the operator's API on ${name}`, () => {
    const api = useOperatorApi(create);
    itLetsOperatorsIn(api);
    itShowsCalls(api);
    itListsByName(api);
    itActsOnCalls(api);
    itActsInBulk(api);
    itPausesCalls(api);
    itCountsCalls(api);
    itShowsHowFarItIs(api);
    itKeepsTheDoNotCallList(api);
    itErasesNumbers(api);
    itFindsSpelledNumbers(api);
    itConfirmsRestores(api);
    itPutsDeadLettersBack(api);
    itShowsReceivers(api);
    itReplaysEvents(api);
    itMakesTokens(api);
    itPlacesCallsForClients(api);
    itListsTheAuditLog(api);
  });
}
