import { mutantsOf, type Mutant } from "./mutant.ts";

const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

/** Mutants of the conditions of claims, of ages and of epochs. */
export const claimMutants: readonly Mutant[] = [
  ...mutantsOf(unit("set-back", "claims"), [
    [
      "a message comes again if one of its calls must",
      "!work.calls.some(({ id }) => undone.has(id))",
      "!work.calls.every(({ id }) => undone.has(id))",
    ],
    [
      "a claim made before the clock was set back is too old",
      "age < -clockStepMs",
      "age < -Infinity",
    ],
    [
      "orders are read again after the clock was set back",
      "now < last.askedAt || at - last.askedAt > documentsAgeMsMax",
      "at - last.askedAt > documentsAgeMsMax",
    ],
    [
      "orders are read again once they are five seconds old",
      "now < last.askedAt || at - last.askedAt > documentsAgeMsMax",
      "now < last.askedAt",
    ],
    [
      "orders that could not be read are read again",
      "if (last === asked) last = { ...asked, askedAt: -Infinity };",
      "",
    ],
    [
      "a call accepted before the retention writes nothing",
      "if (row === undefined && call.acceptedAt < oldest) {",
      "if (row === undefined && call.acceptedAt < 0) {",
    ],
  ]),
  ...mutantsOf(unit("set-back", "restore"), [
    [
      "a process that knows no epoch reads it at each delivery",
      "if (memory.epochSeen !== undefined && now - memory.epochReadAt < readEveryMs) return;",
      "if (now - memory.epochReadAt < readEveryMs) return;",
    ],
    [
      "an epoch is read once a minute",
      "now - memory.epochReadAt < readEveryMs",
      "now - memory.epochReadAt < Infinity",
    ],
    [
      "an old epoch that cannot be read again says nothing",
      "if (now - memory.epochKnownAt > knownMsMax) memory.epochSeen = undefined;",
      "",
    ],
    [
      "an epoch that was seen is not lowered",
      "memory.epochSeen = Math.max(memory.epochSeen ?? 0, epoch);",
      "memory.epochSeen = epoch;",
    ],
    [
      "a ledger that is behind what was seen before has gone back",
      "Math.max(seenBefore, epochSeen - 1)",
      "epochSeen - 1",
    ],
    [
      "a process that has just begun notices a ledger that is behind",
      "Math.max(seenBefore, epochSeen - 1)",
      "seenBefore",
    ],
    [
      "an epoch that moves on while documents are read holds nobody",
      "Math.max(seenBefore, epochSeen - 1)",
      "epochSeen",
    ],
  ]),
  ...mutantsOf(unit("state-machine", "claims", "settlement", "unknown", "sweep"), [
    [
      "a claim's age is its own",
      "claimedAt: at,\n    lostUntil: null,",
      "claimedAt: before.claimedAt ?? at,\n    lostUntil: null,",
    ],
    [
      "a claim's life has time to settle",
      "return claimAgeMsMax + timeoutSeconds * 1000 + settleMs;",
      "return claimAgeMsMax + timeoutSeconds * 1000;",
    ],
    [
      "a claim is good for ten seconds",
      "export const claimAgeMsMax = 10_000;",
      "export const claimAgeMsMax = 12_000;",
    ],
    [
      "an answer that is unknown comes from DIALING alone",
      'if (!states[row.state].settlesTo.includes(isUnknown ? "UNKNOWN" : state)) return undefined;',
      'if (isUnknown ? !["DIALING", "UNKNOWN", "NEEDS_REVIEW"].includes(row.state) : !states[row.state].settlesTo.includes(state)) return undefined;',
    ],
    [
      "a claim that lapsed is not cancelled by its holder",
      'settlesTo: ["WAITING", "REJECTED"],',
      'settlesTo: ["WAITING", "REJECTED", "CANCELLED"],',
    ],
    [
      "a claim that lapsed does not expire by its holder",
      'settlesTo: ["WAITING", "REJECTED"],',
      'settlesTo: ["WAITING", "REJECTED", "EXPIRED"],',
    ],
    [
      "a claim that lapsed goes to no review by its holder",
      'settlesTo: ["WAITING", "REJECTED"],',
      'settlesTo: ["WAITING", "REJECTED", "NEEDS_REVIEW"],',
    ],
    [
      "a call is unknown since it first was",
      "unknownSince: row.unknownSince ?? write.at",
      "unknownSince: write.at",
    ],
    [
      "a placed call is placed once",
      'if (row.state === "PLACED") return undefined;\n    const placed',
      "const placed",
    ],
    [
      "only an unknown outcome is missed",
      'if (row.state !== "UNKNOWN") return undefined;\n  const next = toUnknown(row, { reason: "not_found", dueAt }, write);',
      'const next = toUnknown(row, { reason: "not_found", dueAt }, write);',
    ],
    [
      "only an unknown outcome is reviewed",
      'if (row.state !== "UNKNOWN" || row.unknownSince === null) return undefined;',
      "if (row.unknownSince === null) return undefined;",
    ],
  ]),
  ...mutantsOf(unit("caps"), [
    [
      "a resend that was not sent keeps its place in the cap",
      "if (call === undefined || row.resent) return;",
      "if (call === undefined) return;",
    ],
    [
      "a call counts at the permitAt of its permit",
      "const at = Math.max(clock.now(), permitted.permitAt);",
      "const at = clock.now();",
    ],
  ]),
];
