import { mutantsOf } from "./mutant.ts";

/** Mutants of opt-outs, erasures and the journal by which a restore brings neither back. */
export const erasureMutants = mutantsOf(
  [
    "test/unit/dialer/erasures.test.ts",
    "test/unit/dialer/client-opt-outs.test.ts",
    "test/unit/dialer/recorded-opt-outs.test.ts",
    "test/unit/dialer/renew-entries.test.ts",
    "test/unit/ports/memory-restore.test.ts",
    "test/unit/dialer/erased-tries.test.ts",
    "test/unit/dialer/replay-journal.test.ts",
    "test/unit/dialer/checks.test.ts",
    "test/unit/api/journal-order.test.ts",
  ],
  [
    [
      "an erasure ends calls that were accepted before it",
      "const erasedAt = hashes && findErasure(call, hashes, documents);",
      "const erasedAt = undefined;",
    ],
    [
      "the last look sees an erasure",
      "const erasedAt = findErasure(call, hashes, read);",
      "const erasedAt = undefined;",
    ],
    [
      "an erasure leaves calls that are accepted later",
      ".find((at) => acceptedAt <= at);",
      ".find((at) => acceptedAt > 0 && at > 0);",
    ],
    [
      "a row under way is erased when it settles",
      "return states[state].open ? { ...next, erasedAt } : withoutPerson(next, erasedAt);",
      "return { ...next, erasedAt };",
    ],
    [
      "sweeps erase rows that come later",
      "const done = await eraseRows({ hash: erasure.key, at, by }, deps);",
      "const done = { erased: 0, pending: [], isWhole: true };",
    ],
    [
      "a restored ledger is on hold until the journal is applied",
      "if (isJournalDone === true) return { isJournalDone };",
      "if (isJournalDone !== false) return { isJournalDone: true };",
    ],
    [
      "additions to the list are in the journal",
      'if (add.length > 0) await appendEntry({ kind: "list", entries: added }, deps);',
      "",
    ],
    [
      "a cancelled call is in the journal",
      'if (writes === 0 && action.to === "CANCELLED") {',
      'if (action.to === "PLACED") {',
    ],
    [
      "an erasure is in the journal",
      'await appendEntry({ kind: "erase", hashes, ...erasure, retentionMs }, deps);',
      "",
    ],
    [
      "a redial of a call from before an erasure is not made",
      "Math.min(ownAt, timeOfId(first));",
      "ownAt;",
    ],
    [
      "an erased row has no evidence of checks",
      "const history = withoutEvidence(row.history);",
      "const { history } = row;",
    ],
    [
      "a short page of the journal is not its end",
      "if (names.length > 0) continue;",
      "if (names.length === appliedMax - count) continue;",
    ],
    [
      "a sweep applies no more of the journal than its queries allow",
      "while (!time.isOver() && count < appliedMax) {",
      "while (!time.isOver()) {",
    ],
    [
      "a ledger put back into a restore has its journal applied anew",
      "journalAfter: undefined,",
      "",
      ["isJournalDone: false,\n    },\n    expiresAt: null,", "},\n    expiresAt: null,"],
    ],
    [
      "an opt-out during a removal stands after it in the journal",
      'await appendEntry({ kind: "unlist", entries: unlisted }, deps, begunAt);',
      'await appendEntry({ kind: "unlist", entries: unlisted }, deps);',
    ],
    [
      "what a check forbids for ever is in the journal",
      'await appendEntry({ kind: "list", entries: [listed] }, deps);',
      "",
    ],
    [
      "an entry for one client's calls ends them",
      "isListed(hash) || (client !== undefined && isListed(clientEntryOf(hash, client))),",
      "isListed(hash),",
    ],
    [
      "a process learns of the first entry for one client's calls before it dials",
      "if (deps.memory.readsMore || listIn(read)?.hasMore !== true) return read;",
      "return read;",
    ],
    [
      "a renewal takes back an entry whose former one was removed meanwhile",
      "await removeThose(created.filter(isGone).map(({ change }) => change.next));",
      "",
    ],
    [
      "a record's opt-out is sought after the end of the call",
      "if (hasEnded(row.result) ? !mayOptOut : age < freshMs) return;",
      "if (hasEnded(row.result) || age < freshMs) return;",
    ],
  ],
);
