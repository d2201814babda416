import { mutantsOf } from "./mutant.ts";

/** Mutants of the code that keeps a restore of the ledger from having somebody phoned twice. */
export const restoreMutants = mutantsOf(
  ["test/unit/dialer/restore.test.ts", "test/unit/ports/memory-restore.test.ts"],
  [
    [
      "nothing is decided while the ledger is held",
      "if (known.documents.isSuspended) return holdBack(call, row);",
      "",
    ],
    [
      "nothing is sent under a claim once the ledger is held",
      'if (read.isSuspended) return toWaiting("restored", claim);',
      "",
    ],
    [
      "a call whose row was lost goes to review",
      "if (row === undefined) return mayHaveHadRow(call, restore.since);",
      "if (row === undefined) return false;",
    ],
    [
      "a call counts as accepted before the restore, though by a fast clock",
      "return acceptedAt <= since + restoreMarginMs;",
      "return acceptedAt <= since;",
    ],
    [
      "a row that appears late goes to review",
      'return row.state === "WAITING" && mayHaveBeenDialed(row, { at: at ?? since, since });',
      "return false;",
    ],
    [
      "a row that the copy did not have counts, whenever it is due",
      "return isNew || (row.dueAt ?? 0) <= since + restoreMarginMs;",
      "return (row.dueAt ?? 0) <= since + restoreMarginMs;",
    ],
    [
      "claims and unknown outcomes of the copy count",
      'if (placed !== "no") return true;',
      'if (placed !== "no") return false;',
    ],
    [
      "a confirmed restore holds until it is done",
      'if (state === "suspended" || state === "confirmed") return true;',
      'if (state === "suspended") return true;',
    ],
    ["a ledger that is behind is claim", "return epoch < epochSeen;", "return false;"],
    [
      "a process that could not read the epoch dials nobody",
      "epochSeen === undefined || isLedgerSuspended(",
      "isLedgerSuspended(",
    ],
    [
      "a sweep notices a ledger that is behind",
      "if (epoch >= outside || isKnown) {",
      "if (epoch >= 0) {",
    ],
    [
      "the ledger stays behind while it is held",
      "epoch: restore === undefined ? Math.max(value.epoch, outside) + 1 : value.epoch",
      "epoch: Math.max(value.epoch, outside) + 1",
    ],
    [
      "a restore is over once a later sweep finds nothing more",
      "const isDone = value.isWatchDone && waiting.isWhole && waiting.found === 0;",
      "const isDone = waiting.isWhole;",
    ],
    [
      "a look-up covers all of the time that was lost",
      "until: (lostUntil ?? claimedAt) + claimAgeMsMax",
      "until: claimedAt + claimAgeMsMax",
    ],
    [
      "a call found by number is no proof after a restore",
      "if (row.lostUntil !== null) return undefined;",
      "",
    ],
    [
      "a record of one attempt is no proof after a restore",
      "if (claim === undefined || row.resent || row.lostUntil !== null) return false;",
      "if (claim === undefined || row.resent) return false;",
    ],
    [
      "backlogs are written again after a restore",
      "if (isSuspended || restoredAt > memory.restoredAt) forgetLedger(memory, restoredAt);",
      "",
    ],
  ],
);
