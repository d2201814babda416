import { callBecomes, documentAsAbsent, never, returns } from "./edits.ts";
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
  ["an unreadable cap is not absent", "number-caps:readAll", documentAsAbsent("found.get")],
]);

/** Documents of what the dispatcher looks at, and requests of a campaign. */
const ofOthers = [
  ...toMutants(unit("unreadable"), [
    ["an account that cannot be read holds its calls", "areReadable", returns("true")],
  ]),
  ...toMutants(
    ["test/unit/api/report-unreadable.test.ts"],
    [["a campaign that cannot be read is known", "findRequests", never("skipped")]],
  ),
];

/**
 * Rules by which what only a later version can read holds the calls on it. Where the code asks for it by `requireReadable` or
 * a comparison, readable-mutants.ts makes the mutants.
 */
export const unreadableMutants = [...ofJudges, ...ofTakes, ...ofOthers];
