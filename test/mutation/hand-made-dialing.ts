import { argument, becomes, callBecomes, ignore, returns } from "./edits.ts";
import { toMutants } from "./mutant.ts";

const simulated = ["claimed", "waiting"].map((name) => `test/simulation/${name}.test.ts`);
const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

const ofRows = toMutants(unit("state-machine", "claims", "settlement", "unknown"), [
  [
    "every claim since the call was surely not placed is kept",
    "applyClaim.claims",
    becomes("[version]"),
  ],
  ["a claim's age is its own", "applyClaim.claimedAt", becomes("before.claimedAt ?? at")],
  [
    "a claim does not go back to waiting by the passing of time",
    "expireClaim",
    callBecomes(
      "toUnknown",
      'enterState(row, { state: "WAITING", reason: "claim_lapsed", dueAt }, write)',
    ),
  ],
  [
    "an operator's act keeps the claims",
    "applyAction.next",
    becomes("{ ...enterState(row, { state: action.to, reason, by }, write), claims: [] }"),
  ],
]);

const ofRequests = toMutants(
  [...unit("last-look", "orders", "hours", "a-call", "hash-key-rotation.slow"), ...simulated],
  [
    [
      "a withheld call is settled as the last look says",
      "sendRequest",
      callBecomes("lastLook.refused", '{ kind: "hold", reason: "claim_too_old" }'),
    ],
    [
      "the do-not-call list is read under today's HASH_KEY",
      "do-not-call:admit.listed",
      becomes("{ hashes: hashes.asked.slice(1), client: call.client }"),
    ],
    ["the request of a resend is the first one's", "sendRequest.attempt", becomes("row.attempt")],
  ],
);

const ofCaps = toMutants(
  [...unit("caps", "hash-key-caps"), ...simulated],
  [
    ["a call counts from the time of its permit", "createCaps.count.at", becomes("clock.now()")],
    [
      "a number's entries are written on the version that was read",
      "createCaps.count",
      callBecomes("writeAll", "[writeAll(keys, added.next, current)]"),
    ],
    ["a place in the cap that may have rung stays", "createCaps.release.others", becomes("[]")],
    [
      "calls that were counted under the former HASH_KEY count",
      "createCaps.count.added",
      argument("unite", 0, "current.slice(-1)"),
    ],
    [
      "a call that was not placed leaves its caps under both keys",
      "createCaps.release",
      argument("writeAll", 0, "keys.slice(-1)"),
    ],
    [
      "calls to a number are counted under today's HASH_KEY",
      "createKeys.keysOf",
      returns("[call.client]"),
    ],
  ],
);

const ofLookUps = toMutants(
  [
    ...unit("look-up", "restore", "look-up-not-placed", "provider-callbacks"),
    "test/unit/ports/memory-restore.test.ts",
  ],
  [
    [
      "a look-up covers all of the lost time",
      "findPeriod.until",
      becomes("requestEndsBy(claimedAt, limitMs) + clockMarginMs"),
    ],
    [
      "calls under the other HASH_KEY are rivals for a record found by number",
      "findOwnId.pages",
      callBecomes("hashes.map", "[ledger.list({ numberHash, limit: callsToNumberMax })]"),
    ],
    ["a record is taken by one call alone", "findOwnId", callBecomes("documents.write", "[true]")],
    ["a found call is settled under its own claim", "settleFound.claim", becomes("row.id")],
    ["a record of one attempt is no proof after a restore", "settleNotPlaced", ignore("lostUntil")],
  ],
);

/** Steps of dialing one call: rows, claims, the request, caps, look-ups. */
export const dialingMutants = [...ofRows, ...ofRequests, ...ofCaps, ...ofLookUps];
