import { mutantsOf, type Mutant } from "./mutant.ts";

/** Rules about Call-Not-Before and Call-Priority. */
export const headerMutants: readonly Mutant[] = mutantsOf(
  ["test/unit/dialer/call-headers.test.ts", "test/unit/policy/turns.test.ts"],
  [
    [
      "nobody is dialed before the time that the client named",
      "if (notBefore !== undefined && notBefore > at) {",
      "if (notBefore === undefined && at < 0) {",
    ],
    [
      "a row tells from when on its call may be dialed",
      "Object.assign(call, headersOf(row));",
      "if (row.isUrgent) Object.assign(call, { urgent: true });",
    ],
    [
      "an urgent call goes before its client's others",
      "const isUrgent = own.urgent.length > 0;",
      "const isUrgent = own.others.length === 0;",
    ],
    [
      "an urgent call goes before no other client's",
      "const turn = countUpTo(names, served.client) % Math.max(1, names.length);",
      `const first = names.findIndex((name) => (clients.get(name)?.urgent.length ?? 0) > 0);
      const turn = first >= 0 ? first : countUpTo(names, served.client) % Math.max(1, names.length);`,
    ],
    [
      "an urgent call waits in a backlog of its own",
      "isWaiting ? waitingBacklogOf(row) :",
      "isWaiting ? waitingBacklogOf({ ...row, isUrgent: false }) :",
    ],
    [
      "urgent and other calls of a client and agent share one allowance between looks",
      "inFlight: countBoth(backlog.value, count)",
      "inFlight: inFlight.countIn(key)",
    ],
    [
      "urgent and other calls of a client and agent share one allowance in a look",
      "const { key, sharedBy = key } = one;\n  backlogLeft",
      "const { key } = one; const sharedBy = key;\n  backlogLeft",
    ],
    [
      "urgent calls have the answers of their client and agent",
      "yield answers === undefined ? one : { ...one, value: { ...value, answers } };",
      "yield one; void answers;",
    ],
    [
      "the document with the answers stays while urgent calls may wait",
      "if (!isUrgentMark(value.isUrgent) && (await hasUrgent(value, deps))) return;",
      "void hasUrgent;",
    ],
  ],
);
