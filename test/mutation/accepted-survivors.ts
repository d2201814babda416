import type { Survivor } from "./survivors.ts";

/** A mutant that may survive, and why. */
export interface Accepted extends Survivor {
  because: string;
}

const because = {
  log: "it changes a field of a log line alone",
  wake: "a dispatcher that is woken without need looks once and ends",
  json: "a field without a value is stored as an absent one",
  again: "a condition behind it leaves out the same rows: this one saves work",
  early: "the documents are read at another moment before the permit: a request may leave later",
  page: "the last page may be empty: it costs one read",
  types: "the types allow no such value there",
  connection:
    "nobody is phoned twice by it, and no quick test notices it: all connections are taken for a minute under load alone",
  weightless:
    "an arm without a weight has an infinite score, which no lowest one is: this saves its draw",
  chance: "a number of so many digits has no exact value by chance",
  empty: "the code around it leaves no such value, or makes nothing of it",
  parts: "a pattern matches with all of its groups, or with none",
  none: "null compares as 0, which lies before any time",
  alarm: "a settlement from these states is accepted for PLACED alone",
};

type Row = [place: string, mutator: string, from: string, to: string, because: string];

/** Places are names of files and functions: moved code changes nothing here. */
const rows: readonly Row[] = [
  [
    "expire-claims:expireClaims",
    "MethodExpression",
    "calls.filter(({ dueAt }) => dueAt <= clock.now())",
    "calls",
    because.again,
  ],
  [
    "expire-claims:expireClaims",
    "ConditionalExpression",
    "dueAt <= clock.now()",
    "true",
    because.again,
  ],
  [
    "expire-claims:expireClaims",
    "EqualityOperator",
    "start < late.length",
    "start <= late.length",
    because.page,
  ],
  [
    "expire-claims:expireClaims",
    "MethodExpression",
    "late.slice(start, start + pageRows)",
    "late",
    because.again,
  ],
  ["check:checkCall", "ConditionalExpression", "waited === undefined", "false", because.connection],
  [
    "check:checkCall",
    "OptionalChaining",
    "slots.connection?.release",
    "slots.connection.release",
    because.types,
  ],
  [
    "check:waitForPermit",
    "ArithmeticOperator",
    "2 * leadMs(memory)",
    "2 / leadMs(memory)",
    because.early,
  ],
  [
    "check:waitForPermit",
    "ConditionalExpression",
    "slots.connection === undefined",
    "false",
    because.connection,
  ],
  ["check:waitForPermit", "BooleanLiteral", "false", "true", because.connection],
  [
    "due-rows:createDueRows.readInFlightOf.stands",
    "OptionalChaining",
    "first.get(key)?.rows",
    "first.get(key).rows",
    because.types,
  ],
  [
    "lost-time:mayHaveBeenDialed",
    "ConditionalExpression",
    "row.lostUntil !== null",
    "true",
    because.none,
  ],
  [
    "refused-probe:countRefusedProbe",
    "OptionalChaining",
    "changed.before?.alarmedAt",
    "changed.before.alarmedAt",
    because.types,
  ],
  [
    "refused-probe:isRefusedProbe",
    "ConditionalExpression",
    'outcome.kind === "rejected"',
    "true",
    because.types,
  ],
  [
    "lost-claim:proveClaimPlaced",
    "ConditionalExpression",
    "pollAt === undefined",
    "false",
    because.json,
  ],
  ["call-spans:toWaitSpans", "ConditionalExpression", "last === undefined", "false", because.empty],
  ["otlp:encodeSpans", "ConditionalExpression", "parentId === undefined", "false", because.json],
  ["otlp:encodeAttributes", "ConditionalExpression", "value === undefined", "false", because.types],
  [
    "splits:chooseArm",
    "ArithmeticOperator",
    "bytes.readUIntBE(0, drawnBits / 8) + 0.5",
    "bytes.readUIntBE(0, drawnBits / 8) - 0.5",
    because.chance,
  ],
  ["splits:chooseArm", "EqualityOperator", "score >= lowest", "score > lowest", because.chance],
  ["splits:chooseArm", "ConditionalExpression", "weight === 0", "false", because.weightless],
  [
    "splits:splitProblems",
    "OptionalChaining",
    "agents[arm]?.split",
    "agents[arm].split",
    because.empty,
  ],
  [
    "split-verdict:compareArms",
    "ConditionalExpression",
    "first === undefined",
    "false",
    because.empty,
  ],
  [
    "split-verdict:compareArms",
    "EqualityOperator",
    "completed.low > 0",
    "completed.low >= 0",
    because.chance,
  ],
  [
    "split-verdict:compareArms",
    "EqualityOperator",
    "completed.high < 0",
    "completed.high <= 0",
    because.chance,
  ],
  [
    "trace-context:parseTraceparent",
    "LogicalOperator",
    "traceId === undefined || parentId === undefined",
    "traceId === undefined && parentId === undefined",
    because.parts,
  ],
  [
    "trace-context:parseTraceparent",
    "ConditionalExpression",
    "traceId === undefined",
    "false",
    because.parts,
  ],
  [
    "trace-context:parseTraceparent",
    "ConditionalExpression",
    "parentId === undefined",
    "false",
    because.parts,
  ],
  [
    "trace-context:chooseTraceparent",
    "EqualityOperator",
    "fractionOf(requestId) < share",
    "fractionOf(requestId) <= share",
    because.chance,
  ],
  ["settle:report", "ConditionalExpression", "dueAt === undefined", "true", because.log],
  [
    "settle:report",
    "ConditionalExpression",
    'dueAt !== undefined && state === "WAITING"',
    "true",
    because.wake,
  ],
  [
    "settle:report",
    "LogicalOperator",
    'dueAt !== undefined && state === "WAITING"',
    'dueAt !== undefined || state === "WAITING"',
    because.wake,
  ],
  ["settle:report", "ConditionalExpression", "dueAt !== undefined", "true", because.wake],
  ["settle:report", "ConditionalExpression", 'state === "WAITING"', "true", because.wake],
  [
    "settle:settleSent",
    "ArithmeticOperator",
    "settlement.at - startedAt",
    "settlement.at + startedAt",
    because.log,
  ],
  ["settle:writeSettlement", "ConditionalExpression", 'state === "PLACED"', "true", because.alarm],
  [
    "transitions:applyClaim",
    "ConditionalExpression",
    "checks === undefined",
    "false",
    because.json,
  ],
  [
    "transitions:applySettlement",
    "ConditionalExpression",
    "row.tries === undefined",
    "false",
    because.again,
  ],
  [
    "transitions:applySettlement",
    "ConditionalExpression",
    "erasedAt === undefined",
    "false",
    because.json,
  ],
  ["transitions:enterState", "ConditionalExpression", "dueAt !== undefined", "true", because.json],
  ["transitions:enterState", "ConditionalExpression", "by !== undefined", "true", because.json],
  [
    "transitions:toPlacedWithTries",
    "ConditionalExpression",
    "tries === undefined",
    "false",
    because.again,
  ],
];

export const acceptedSurvivors: readonly Accepted[] = rows.map(
  ([place, mutator, from, to, reason]) => ({ in: place, mutator, from, to, because: reason }),
);
