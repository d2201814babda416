import { becomes, callBecomes, exchange, ignore, leaveOut, never } from "./edits.ts";
import { toMutants } from "./mutant.ts";

const simulated = ["claimed", "waiting"].map((name) => `test/simulation/${name}.test.ts`);
const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

const ofMessages = toMutants(
  [
    ...unit("delivery", "unreadable", "claims", "split", "dead-letters", "a-call", "redials"),
    ...simulated,
  ],
  [
    [
      "calls that wait are written before the message is acknowledged",
      "splitRequest",
      leaveOut("writeDecided"),
    ],
    [
      "a row's own call is dialed",
      "decide-delivered:decide.call",
      becomes("delivered ?? (row && toCall(row))"),
    ],
    ["a row of a later version is handed back", "dialCalls.retry", becomes("new Set()")],
    ["a stored dead letter that failed stays", "handleStored", callBecomes("handle", '"done"')],
    ["a purged row is not written anew", "writeDead.recent", becomes("calls")],
    ["rows stay for the plan's retention", "purgeRows.before", becomes("clock.now()")],
  ],
);

const ofTurns = toMutants(
  [
    ...unit("dispatcher", "dispatches", "wake-dispatcher", "sweep", "pace", "between-looks"),
    ...simulated,
    "test/simulation/turns.test.ts",
  ],
  [
    ["a dispatcher that ends gives its place back", "releaseDispatcher", leaveOut("beat")],
    ["a dispatcher that ends looks once more", "endIdle", callBecomes("isIdle", "true")],
    ["who writes a due row wakes a dispatcher", "wakeForRows", leaveOut("wakeDispatcher")],
    [
      "a permit is given to one request",
      "createPermits.takeAll",
      callBecomes("paces.map", "paces.map(() => permitTimes[0])"),
    ],
    ["a request waits for its permit", "createPermits.isValid.late", becomes("0")],
  ],
);

const ofTries = toMutants(
  ["test/unit/dialer/tries.test.ts", "test/simulation/tries.slow.test.ts"],
  [
    [
      "a try is called as it was named",
      "toTryId.digest",
      becomes('hash("sha256", `${chain} ${Math.random()}`)'),
    ],
  ],
);

const ofLetters = toMutants(
  ["test/unit/cli/dead-command.slow.test.ts"],
  [
    [
      "a dead letter is removed after its message was sent",
      "putBackDeadLetter",
      exchange("enqueue", "deadLetters.remove"),
    ],
  ],
);

const ofSandbox = toMutants(
  ["test/unit/dialer/test-calls.test.ts"],
  [
    [
      "a test client's calls go along the sandbox's route",
      "createRouteTable.find.sandbox",
      becomes("own"),
    ],
  ],
);

const ofCallbacks = toMutants(
  [
    "test/unit/dialer/signed-callbacks.test.ts",
    "test/unit/lib/standard-webhooks.test.ts",
    "test/unit/api/callbacks.test.ts",
  ],
  [
    [
      "a signature is of the message's id",
      "computeMac",
      callBecomes("createHmac", 'createHmac("sha256", key).update(timestamp)'),
    ],
    [
      "the code of a callback's URL is of one claim",
      "codesUnder",
      callBecomes("partsOf", "partsOf(subject).slice(0, 2)"),
    ],
  ],
);

const ofAdapters = [
  ...toMutants(
    ["test/unit/ports/memory-ledger.test.ts"],
    [
      [
        "the ledger in memory writes on the version that was read",
        "createMemoryLedger.write",
        never("seen"),
      ],
    ],
  ),
  ...toMutants(
    ["test/unit/ports/memory-documents.test.ts"],
    [
      [
        "each permit in memory is given to one caller",
        "createMemoryDocuments.takePermits",
        leaveOut("put"),
      ],
    ],
  ),
  ...toMutants(
    ["test/aws/dynamodb-ledger.test.ts", "test/aws/dynamodb-documents.test.ts"],
    [
      [
        "DynamoDB writes over the version that was read",
        "dynamodb-writes:isSeen",
        becomes('"#version = :seen OR attribute_exists(#version)"'),
      ],
      [
        "DynamoDB writes an absent item alone",
        "isAbsent",
        becomes('"attribute_not_exists(#pk) OR #expiresAt <= :now OR attribute_exists(#pk)"'),
      ],
      ["a repeated write is known by its version", "writeOne.current", becomes("undefined")],
    ],
  ),
  ...toMutants(
    ["test/cloudflare/d1-ledger.test.ts", "test/cloudflare/d1-documents.test.ts"],
    [
      [
        "a D1 write counts if it was made",
        "d1-writes:writeVersioned",
        callBecomes("returned.has", "true"),
      ],
      ["two D1 writes of one item are two statements", "inChunks", ignore("names")],
    ],
  ),
];

/** Mutants of what carries calls from step to step: messages, turns, callbacks, the sandbox, the platforms' adapters. */
export const flowMutants = [
  ...ofMessages,
  ...ofTurns,
  ...ofTries,
  ...ofLetters,
  ...ofSandbox,
  ...ofCallbacks,
  ...ofAdapters,
];
