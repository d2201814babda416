import {
  always,
  becomes,
  callBecomes,
  documentAsAbsent,
  ignore,
  never,
  returns,
  rowAsAbsent,
} from "./edits.ts";
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

/** Rows that are read by their ids without `requireReadable`, whose calls are in readable-mutants.ts. */
const ofRows = toMutants(
  unit("unreadable", "unreadable-rows", "settle-surely", "lost-claims", "tries-told"),
  [
    ["a row whose claim was lost is not absent", "claimCall.current", rowAsAbsent("get")],
    ["the row of a settlement is not absent", "settleSurely.found", rowAsAbsent("get")],
    ["a call whose row cannot be read stays live", "mayBeLive", never("unreadable")],
    ["the last try of a call is not absent", "readTries.row", rowAsAbsent("found.get")],
    [
      "the first call of a finished request is not absent",
      "finishForClientReceivers.row",
      rowAsAbsent("rows.get"),
    ],
  ],
);

/** Rows that are found by a number. */
const ofNumbers = toMutants(unit("look-up", "erasures"), [
  [
    "a call to the number that cannot be read may be the one at the provider",
    "findOwnId",
    ignore("unreadable"),
  ],
  ["an erasure is not over while a row cannot be read", "eraseRows", never("unreadable")],
]);

/** Documents of what the dispatcher looks at, and of clients' own receivers. */
const ofDocuments = toMutants(unit("unreadable", "unreadable-rows", "client-receivers"), [
  ["an account that cannot be read holds its calls", "areReadable", returns("true")],
  [
    "own receivers that cannot be read are not absent",
    "rememberReceivers.value",
    becomes(
      '{ receivers: {}, ...(read.find(kind, key)?.value === "unreadable" ? {} : read.find(kind, key)?.value) }',
    ),
  ],
  [
    "events of receivers that cannot be read are not dropped",
    "dropGone.kept",
    never("isUnreadable"),
  ],
  [
    "a request of receivers that cannot be read is not finished",
    "finishForClientReceivers.known",
    becomes("requests"),
  ],
]);

/** Answers of the API about a row. None says that there is no such row. */
const ofAnswers = toMutants(
  ["report-unreadable", "api-failures", "change-call"].map(
    (name) => `test/unit/api/${name}.test.ts`,
  ),
  [
    ["a request that cannot be read is known", "findRequest", never("unreadable")],
    ["a client's call that cannot be read is known", "findTries", always("unreadable")],
    [
      "a call that cannot be read is known to operators",
      "find-call:findCall.row",
      rowAsAbsent("get"),
    ],
    [
      "a request that cannot be read is known to operators",
      "requests:showRequest",
      never("unreadable"),
    ],
    ["a campaign that cannot be read is known", "findRequests", never("skipped")],
  ],
);

/** Rules by which what only a later version can read holds the calls on it. */
export const unreadableMutants = [
  ...ofJudges,
  ...ofTakes,
  ...ofRows,
  ...ofNumbers,
  ...ofDocuments,
  ...ofAnswers,
];
