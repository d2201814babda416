import { argument, becomes, callBecomes, exchange, leaveOut, returns } from "./edits.ts";
import { toMutants } from "./mutant.ts";

const simulated = ["claimed", "waiting"].map((name) => `test/simulation/${name}.test.ts`);
const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

const ofOrders = toMutants(
  [
    ...unit("orders", "hours", "pauses", "client-cancellations", "unknown", "call-headers"),
    ...simulated,
  ],
  [
    [
      "a client's pause stops its calls",
      "pauseKeysOf.own",
      becomes("[pauseKeyOf({ agent: agentId })]"),
    ],
    ["a resend of a cancelled call is not sent", "decideUnknown.mayEnd", leaveOut("findVerdict")],
  ],
);

const ofLists = toMutants(
  [
    ...unit(
      "orders",
      "erasures",
      "client-opt-outs",
      "recorded-opt-outs",
      "opt-out",
      "hash-key-rotation.slow",
    ),
    ...unit("checks", "erased-tries", "replay-journal"),
    "test/unit/api/journal-order.test.ts",
    "test/unit/ports/memory-restore.test.ts",
  ],
  [
    [
      "the list is searched under the former key too",
      "do-not-call:admit.listed",
      becomes("{ hashes: hashes.asked.slice(0, 1), client: call.client }"),
    ],
    [
      "a redial of an erased call is not made",
      "findErasure.acceptedAt",
      becomes("clientReceiverAt"),
    ],
    ["an erased row has no evidence of checks", "withoutPerson.history", becomes("row.history")],
    [
      "sweeps erase later rows",
      "sweepErasures",
      callBecomes("eraseRows", "{ erased: 0, cancelled: [], pending: [], isWhole: true }"),
    ],
    ["an erasure is in the journal", "eraseNumber", leaveOut("appendEntry")],
    [
      "a cancelled call is in the journal before its row changes",
      "changeCall",
      exchange("appendEntry", "isWritten"),
    ],
    ["a check's opt-out is listed", "decideByChecks", leaveOut("putEntries")],
    ["a callee's opt-out is listed", "optOut", leaveOut("listCallee")],
    ["a callee's opt-out is in the journal", "listEntry", leaveOut("appendListed")],
    ["an opt-out has the removals before it", "readRemovals", returns("keys.map(() => 0)")],
    ["a removal is counted", "countRemovals.removals", becomes("1")],
    ["an opt-out while counts are lost holds by its time", "clocksMs", becomes("Infinity")],
  ],
);

const ofRestores = toMutants(
  [...unit("restore", "set-back", "sweep"), "test/unit/ports/memory-restore.test.ts"],
  [
    [
      "documents that show a restore are read",
      "readWithSuspension",
      argument("documents.read", 0, "keys"),
    ],
    [
      "a ledger that goes back is noticed",
      "readWithSuspension",
      argument("isLedgerSuspended", 1, "seen - 1"),
    ],
    [
      "a process that just began notices it",
      "readWithSuspension",
      argument("isLedgerSuspended", 1, "seenBefore"),
    ],
    [
      "an epoch that moves on holds nobody",
      "readWithSuspension",
      argument("isLedgerSuspended", 1, "seen"),
    ],
    [
      "the ledger stays behind while dialing is suspended",
      "takeLease.lease.epoch",
      becomes("Math.max(value.epoch, outside) + 1"),
    ],
    ["a restore is over once nothing more is found", "beginPass.mayEnd", becomes("true")],
    ["a seen epoch is not lowered", "rememberEpoch", callBecomes("Math.max", "epoch")],
  ],
);

const ofLostClaims = toMutants(
  unit("lost-claims", "first-rows", "own-failures", "signed-callbacks"),
  [
    [
      "a signed callback of a lost claim proves the call",
      "findClaim",
      callBecomes("released.includes", "true"),
    ],
    [
      "a claim that placed nothing proves nothing",
      "findClaim",
      callBecomes("released.includes", "false"),
    ],
    ["an opt-out is listed without a row", "followWithoutRow", leaveOut("listHash")],
    [
      "a callback without a row waits for the restore",
      "followWithoutRow",
      callBecomes("retryLater", '("ack" as const)'),
    ],
    ["an opt-out is listed while its call is dialed", "followRow", leaveOut("listCallee")],
    [
      "a call's first row asks its controls",
      "judgeFirstRow",
      callBecomes("findVerdict", "undefined"),
    ],
    [
      "a waiting row of a restore asks its controls",
      "recoverRows",
      callBecomes("readEnds", "new Map()"),
    ],
    ["a failed row is put back", "createOwnFailures.putBack", leaveOut("postpone")],
    [
      "a row that fails keeps back no other",
      "pollEach",
      callBecomes("own.putBack", "Promise.reject(error)"),
    ],
  ],
);

const ofClocks = toMutants(unit("wrong-clocks"), [
  ["a process that is behind notices no restore early", "checkEpoch.since", becomes("clock.now()")],
]);

const ofRefusedProbes = toMutants(unit("refusals"), [
  ["a refused probe is counted", "recordOutcome", leaveOut("countRefusedProbe")],
]);

const api = (...names: string[]) => names.map((name) => `test/unit/api/${name}.test.ts`);

const ofMeasures = [
  ...toMutants(api("bounded-orders", "http-api"), [
    ["a client's entries are gathered", "gathered-entries:gather", returns("undefined")],
    ["of a page the last object counts", "sortOutGathered.isKept", becomes("() => true")],
    [
      "what cannot be gathered is not refused",
      "gatherAbove",
      argument("catch", 0, "(error: unknown) => { throw error; }"),
    ],
    [
      "an order is kept where a call may be redialed",
      "isRequestOver",
      callBecomes("every", "true"),
    ],
  ]),
  ...toMutants(
    ["test/simulation/writes.slow.test.ts"],
    [
      [
        "a process knows each client's receivers apart",
        "rememberReceivers.value",
        callBecomes("find", "read.find(kind, keys[0]?.key ?? key)"),
      ],
      [
        "a client's receivers are told of its own calls",
        "clientReceiversOf",
        returns("[...knownReceivers.values()].flatMap(({ own }) => own)"),
        // An event names a receiver with its client, and a row with another client is passed over: each bears the load alone.
        [
          "findReceiverOf",
          callBecomes(
            "find",
            "clientReceiversOf(client, own).find((one) => one.own.name === key.name)",
          ),
        ],
        ["readPending.isOwn", becomes("() => true")],
      ],
    ],
  ),
];

/** Rules by which a call must wait or end: hours, orders, lists, erasures, restores, clocks, probes. */
export const ruleMutants = [
  ...ofOrders,
  ...ofLists,
  ...ofRestores,
  ...ofLostClaims,
  ...ofClocks,
  ...ofMeasures,
  ...ofRefusedProbes,
];
