import { mutantsOf } from "./mutant.ts";

const tests = [
  "test/unit/dialer/tries.test.ts",
  "test/unit/dialer/tries-told.test.ts",
  "test/unit/dialer/erased-tries.test.ts",
  "test/unit/policy/next-try.test.ts",
  "test/simulation/tries.test.ts",
];

/** Rules about calls that are tried again. */
export const tryMutants = mutantsOf(tests, [
  [
    "a chain keeps to its budget and to its time",
    "if (tries === undefined || tries.number >= tries.budget || at >= tries.until) return false;",
    "if (tries === undefined) return false;",
    ["if (tries.number >= rule.attempts) return undefined;", ""],
  ],
  [
    "an operator's act ends a chain",
    "return history.every(({ by }) => by === undefined);",
    "return true;",
  ],
  [
    "a call whose end is contradicted makes way for no try",
    "return history.every(({ reason }) => reason !== contradicted);",
    "return true;",
  ],
  [
    "a try reads its ancestors before it is dialed",
    "filter((row) => row.next === undefined || !hasMadeWay(row));",
    "filter(() => false);",
  ],
  [
    "a call stays due until its next try has a row",
    "return { ...recorded, next, backlog: resultsBacklogOf(recorded.route), dueAt: at };",
    "return { ...recorded, next };",
  ],
  [
    "a try is made as it was named",
    'const digest = hash("sha256", `${chain} try ${number}`);',
    'const digest = hash("sha256", `${chain} try ${number} ${Math.random()}`);',
  ],
  [
    "the number is erased once the next try has a row",
    "({ ...row, version, backlog: null, dueAt: null, request: null }),",
    "({ ...row, version, backlog: null, dueAt: null }),",
  ],
  [
    "the number is erased by a result after which no try follows",
    "if (next === undefined || recorded.route === null) return { ...recorded, request: null };",
    "if (next === undefined || recorded.route === null) return recorded;",
  ],
  [
    "the number of a last try is erased once it is placed",
    "if (dueAt === null || tries === undefined || !mayBeTriedAgain(placed, at)) return placed;",
    "if (dueAt === null || tries === undefined) return placed;",
  ],
  [
    "a later try ends with its within",
    "return tries === undefined || tries.number === 1 ? expiresAt : Math.min(expiresAt, tries.until);",
    "return expiresAt;",
  ],
  [
    "nobody who has opted out is tried again",
    "const { tries, request, result, claimedAt, agentId, optedOut } = row;",
    "const { tries, request, result, claimedAt, agentId } = row; const optedOut = false;",
  ],
  [
    "a redial by an operator is a chain of one",
    "if (call.tries !== undefined || call.ancestors !== undefined) return call;",
    "if (call.tries !== undefined) return call;",
  ],
  [
    "a cancelled request ends the waiting try",
    "const last = await readLastTries(rows, (ids) => ledger.read(ids));",
    "const last = new Map(rows.map((row) => [row.id, row]));",
  ],
  [
    "a request is finished after the last try",
    "const last = await readLastTries(rows.values(), (some) => ledger.readWithoutContext(some));",
    "const last = rows;",
    [
      "const last = await readLastTries(rows.values(), (ids) => ledger.read(ids));",
      "const last = rows;",
    ],
  ],
  [
    "a request is not finished while its polls are late and a try may follow",
    "return Math.max(dueAt + resultLateMs, until ?? 0) < now;",
    "return dueAt + resultLateMs < now;",
  ],
  [
    "a request is not finished while a try cannot be read",
    "if (unreadable.has(next.id)) tries.delete(id);",
    "",
  ],
  [
    "an erased call that is placed keeps nothing for a next try",
    "if (placed.erasedAt !== undefined) return placed;",
    "",
  ],
  [
    "a try that was cancelled for its ancestor stays so after a restore",
    "if (changed.length > 0) return noteCancelled(last, deps);",
    "if (changed.length > 0) return;",
  ],
  [
    "a later try has no request of its own to be finished",
    "const isFirst = seen === null && indexOf(next.id) === 0 && !isLaterTry(next);",
    "const isFirst = seen === null && indexOf(next.id) === 0;",
  ],
]);
