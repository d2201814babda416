import { callBecomes, documentAsAbsent, ignore, never, rowAsAbsent } from "./edits.ts";
import { toMutants } from "./mutant.ts";

const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

/** A document of a judge that counts as absent if only a later version can read it. */
const ofJudges = toMutants(
  ["test/unit/rules/unreadable.test.ts"],
  [
    ["an unreadable document is not absent", "toRead", callBecomes("UnreadableError", "undefined")],
    ["an unreadable restore suspends the ledger", "lastRestore", documentAsAbsent("documents.get")],
    [
      "an unreadable epoch is not absent",
      "isLedgerSuspended.epoch",
      documentAsAbsent("documents.get"),
    ],
  ],
);

/**
 * Mutants of what a claimed call takes. Paces and days are counted by the stores. Live calls, caps in shared statements and
 * the row of a delivered call are held by the version of their write as well.
 */
const ofTakes = toMutants(unit("unreadable-takes", "redials"), [
  ["an unreadable ancestor is not absent", "earlier-tries:judge", ignore("unreadable")],
  ["an unreadable cap is not absent", "number-caps:readAll", documentAsAbsent("found.get")],
]);

/** Rows that are read by their ids. */
const ofRows = toMutants(
  unit("unreadable", "unreadable-rows", "settle-surely", "lost-claims", "tries-told"),
  [
    ["a row whose claim was lost is not absent", "claimCall.current", rowAsAbsent("get")],
    ["the row of a settlement is not absent", "settleSurely.found", rowAsAbsent("get")],
    ["the row of an outcome is not absent", "settleOutcome", rowAsAbsent("requireReadable")],
    [
      "the row of a signed callback is not absent",
      "signed-callback:readRow",
      rowAsAbsent("requireReadable"),
    ],
    ["the row of a callback is not absent", "followCallback", rowAsAbsent("requireReadable")],
    ["a call whose row cannot be read stays live", "mayBeLive", never("unreadable")],
    ["the last try of a call is not absent", "readTries.row", rowAsAbsent("found.get")],
  ],
);

/** Rules by which what only a later version can read holds the calls on it. */
export const unreadableMutants = [...ofJudges, ...ofTakes, ...ofRows];
