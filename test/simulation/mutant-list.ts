/** A load-bearing line, and what breaks it. */
export interface Mutant {
  /** What no longer holds. */
  breaks: string;
  /** More than one where two lines bear the same load, and either is enough. */
  edits: { file: string; line: string; becomes: string }[];
}

const one = (breaks: string, file: string, line: string, becomes: string): Mutant => ({
  breaks,
  edits: [{ file, line, becomes }],
});

const dialCalls = "functions/dialer/dial-calls.ts";
const stateMachine = "shared/ledger/state-machine.ts";

export const mutants: readonly Mutant[] = [
  one(
    "a call is claimed before it is dialed",
    dialCalls,
    'if (claimed !== "ours") return claimed;',
    'if (claimed === "again") return claimed;',
  ),
  one(
    "a claim of another holder stands",
    stateMachine,
    'if (row.state === "DIALING" && row.token === claim.token) return row;',
    'if (row.state === "DIALING") return { ...row, ...dialing };',
  ),
  one(
    "a claim that is read back is ours by its token",
    dialCalls,
    'if (row?.state === "DIALING") return row.token === claim.token ? "ours" : "done";',
    'if (row?.state === "DIALING") return "ours";',
  ),
  one(
    "what an operator orders while a function waits or stands still holds",
    dialCalls,
    'if (clock.now() - askedAt > claimAgeMsMax) throw new Error("the orders are old");',
    "void askedAt;",
  ),
  one(
    "what an operator orders reaches a delivery that is under way",
    "functions/dialer/operator-orders.ts",
    "const ordersAgeMsMax = 5_000;",
    "const ordersAgeMsMax = 5_000_000;",
  ),
  one(
    "a row is written before its message is acknowledged",
    dialCalls,
    "await writeUnclaimed(writes, deps).catch(again(writes));",
    "await writeUnclaimed(writes, deps).catch(() => undefined);",
  ),
  one(
    "a ledger that cannot be read hands the delivery back",
    "functions/dialer/handle-delivery.ts",
    'log("alarm", "ledger.unreachable", { count: wanted.size, error: errorForLog(error) });',
    'for (const { indexes } of wanted.values()) for (const index of indexes) done(index);\n    log("alarm", "ledger.unreachable", { error: errorForLog(error) });',
  ),
  one(
    "an unknown outcome is not sent again",
    "functions/dialer/settlement.ts",
    'if (outcome.kind === "unknown" || unknownSince !== undefined) {',
    'if (outcome.kind === "unknown") return waiting(outcome.code, now + 5000);\n  if (unknownSince !== undefined) {',
  ),
  one(
    "a claim does not go back to waiting by the passing of time",
    "functions/dialer/sweep.ts",
    'const lapsedTo = { state: "UNKNOWN", reason: "claim_lapsed" } as const;',
    'const lapsedTo = { state: "DEFERRED", reason: "claim_lapsed" } as const;',
  ),
  one(
    "a batch is accepted whole or not at all",
    "shared/call.ts",
    "issues.push({ ...issue, path: [...path, ...issue.path], input: undefined });",
    "void issue;",
  ),
  one(
    "what a throttled queue did not take of a batch is sent again",
    "functions/dialer/split-batch.ts",
    'if (sent === messages.length) return "acknowledge";',
    'if (sent > 0) return "acknowledge";',
  ),
  one(
    "the rest of a batch keeps its calls' ids",
    "functions/dialer/split-batch.ts",
    "firstIndex: batch.firstIndex + sent,",
    "firstIndex: batch.firstIndex,",
  ),
  {
    breaks: "a settlement that fails is repeated as a write, not as a call",
    edits: [
      {
        file: dialCalls,
        line: "const written = await settleSurely(settlement);",
        becomes: "const written = await settleSurely(settlement, () => request(dial));",
      },
      {
        file: dialCalls,
        line: 'async function settleSurely(settlement: Settlement): Promise<"written" | "refused" | "lost"> {',
        becomes:
          'async function settleSurely(settlement: Settlement, repeat: () => Promise<unknown>): Promise<"written" | "refused" | "lost"> {',
      },
      {
        file: dialCalls,
        line: "await clock.sleep(waitMs);",
        becomes: "await clock.sleep(waitMs);\n      if (waitMs > 0) await repeat();",
      },
    ],
  },
  one(
    "a settlement needs its claim's token",
    stateMachine,
    "if (row === undefined || row.token !== settlement.token) return undefined;",
    "if (row === undefined) return undefined;",
  ),
  one(
    "every attempt has a fresh token",
    dialCalls,
    "const token = random.token();",
    "const token = call.id;",
  ),
  one(
    "a decision is written only over the row that it was made on",
    stateMachine,
    'const asSeen = row.state === "DEFERRED" && row.dueAt === write.seenDueAt;',
    'const asSeen = row.state === "DEFERRED" || row.state === "DIALING";',
  ),
  one(
    "a holder who stood still does not dial on an old claim",
    "functions/dialer/decide.ts",
    "export const claimAgeMsMax = 10_000;",
    "export const claimAgeMsMax = 10_000_000;",
  ),
  {
    breaks: "calling hours are looked at again when a call is dialed",
    edits: [
      {
        file: dialCalls,
        line: "if (closed !== undefined) return write(closed);",
        becomes: "",
      },
      {
        file: dialCalls,
        line: "if (closedBy === undefined) return undefined;",
        becomes: "if (closedBy !== undefined || now > 0) return undefined;",
      },
    ],
  },
  {
    breaks: "a call waits for its calling hours",
    edits: [
      {
        file: "shared/schedule/schedule.ts",
        line: "if (rules.hours.length === 0) return { at: window.from };",
        becomes: "if (rules.hours.length > 0) return { at: window.from };",
      },
    ],
  },
  one(
    "a moment of the pace that has passed is void",
    "functions/dialer/pace.ts",
    "const momentAgeMsMax = 500;",
    "const momentAgeMsMax = 500_000_000;",
  ),
  one(
    "a number's cap is kept",
    dialCalls,
    'if (free === now || resendOf !== undefined) return "claim";',
    'if (free <= expiresAt) return "claim";',
  ),
  one(
    "a call that is sent once more counts from then on",
    dialCalls,
    "const free = await countAt(call, route, now);",
    "const free = resendOf === undefined ? await countAt(call, route, now) : now;",
  ),
  {
    breaks: "a call that was sent twice is placed or unknown, whatever the second answer",
    edits: [
      {
        file: "functions/dialer/settlement.ts",
        line: 'if (outcome.kind === "unknown" || unknownSince !== undefined) {',
        becomes: 'if (outcome.kind === "unknown") {',
      },
      {
        file: stateMachine,
        line: 'if (row.resent && (state === "DEFERRED" || state === "REJECTED")) return undefined;',
        becomes: "",
      },
    ],
  },
  one(
    "what a provider forgets is sent once more at most",
    "functions/dialer/decide.ts",
    "const isOver = resendUntil !== undefined && (row.resent || now > resendUntil);",
    "const isOver = resendUntil !== undefined && now > resendUntil;",
  ),
  one(
    "a replay under an Idempotency-Key has the first one's ids",
    "functions/api/idempotency.ts",
    "return { seed: standing.seed, firstAt: Number(firstAt) };",
    "return { seed, firstAt: Number(firstAt) };",
  ),
  one(
    "an Idempotency-Key is its client's alone",
    "functions/api/idempotency.ts",
    '.update(JSON.stringify([c.get("caller").client, header]))',
    ".update(JSON.stringify([header]))",
  ),
  one(
    "an Idempotency-Key stands for one request",
    "functions/api/idempotency.ts",
    "if (standing.fingerprint === fingerprint) {",
    "if (standing.seed !== undefined) {",
  ),
  one(
    "201 is answered once the queue has acknowledged",
    "functions/api/create-calls.ts",
    "await send().catch(send);",
    "void send().catch(send).catch(() => undefined);",
  ),
  one(
    "a token is compared whole",
    "shared/tokens.ts",
    "if (same && valid) found =",
    "if (valid) found =",
  ),
  one(
    "a token places calls for its own agents",
    "functions/api/create-calls.ts",
    'errors.push({ field: "/agent_id", detail: "is not one of this token\'s agents" });',
    "void errors;",
  ),
  one(
    "a dead letter without a row is parked",
    "functions/dialer/dead-letters.ts",
    "return park([message.call], deps);",
    "return park([], deps);",
  ),
  one(
    "a parked call keeps what was posted",
    stateMachine,
    'call: state === "PLACED" ? null : row.call,\n    updatedAt: at,\n  };\n}\n\n/** From',
    "call: null,\n    updatedAt: at,\n  };\n}\n\n/** From",
  ),
  one(
    "who is on the do-not-call list is not dialed",
    "functions/dialer/operator-orders.ts",
    'if (isNever) return { kind: "write", state: "REJECTED", reason: "do_not_call" };',
    "void isNever;",
  ),
  {
    breaks: "an operator's orders hold",
    edits: [
      {
        file: "functions/dialer/operator-orders.ts",
        line: "return byOrder(call, route, standing);",
        becomes: "void standing;\n    return undefined;",
      },
      {
        file: "functions/dialer/decide.ts",
        line: "if (ordered !== undefined) return ordered;",
        becomes: "",
      },
    ],
  },
  one(
    "a cancelled request's calls are not dialed, nor an agent's",
    "shared/orders.ts",
    "return orders.some(({ name, at }) => names.has(name) && acceptedAt <= at);",
    "return orders.some(({ name, at }) => names.has(name) && acceptedAt > at);",
  ),
  one(
    "a call found by its number is no other call's",
    "functions/dialer/look-up.ts",
    "if (others.some((row) => (unresolved.has(row.state) || isHidden(row)) && overlaps(row))) {",
    "if (others.some((row) => isHidden(row) && overlaps(row))) {",
  ),
  one(
    "an error is logged without its words",
    "shared/log.ts",
    "if (!(error instanceof Error)) return typeof error;",
    "if (error instanceof Error) return error.message;\n  if (!(error instanceof Error)) return typeof error;",
  ),
];
