import { mutantsOf } from "./mutant.ts";

/** Mutants of opt-outs, erasures and the journal by which a restore brings neither back. */
export const erasureMutants = mutantsOf(
  [
    "test/unit/dialer/erasures.test.ts",
    "test/unit/dialer/client-opt-outs.test.ts",
    "test/unit/dialer/recorded-opt-outs.test.ts",
    "test/unit/dialer/renew-entries.test.ts",
    "test/unit/ports/memory-restore.test.ts",
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
      'if (action.to === "CANCELLED") {',
      'if (action.to === "PLACED") {',
    ],
    [
      "an erasure is in the journal",
      'await appendEntry({ kind: "erase", hashes, ...erasure, retentionMs }, deps);',
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
