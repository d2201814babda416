import { sandboxMutants } from "./mutant-list-sandbox.ts";
import { answerMutants } from "./mutant-list-answers.ts";
import { breakerMutants } from "./mutant-list-breakers.ts";
import { checkMutants } from "./mutant-list-checks.ts";
import { claimMutants } from "./mutant-list-claims.ts";
import { dispatchMutants } from "./mutant-list-dispatch.ts";
import { hashKeyMutants } from "./mutant-list-hash-keys.ts";
import { eventMutants } from "./mutant-list-events.ts";
import { headerMutants } from "./mutant-list-headers.ts";
import { orderMutants } from "./mutant-list-orders.ts";
import { pauseMutants } from "./mutant-list-pauses.ts";
import { resultMutants } from "./mutant-list-results.ts";
import { erasureMutants } from "./mutant-list-erasures.ts";
import { restoreMutants } from "./mutant-list-restore.ts";
import { lastLookMutants } from "./mutant-list-last-look.ts";
import { portMutants } from "./mutant-list-ports.ts";
import { tryMutants } from "./mutant-list-tries.ts";
import { turnMutants } from "./mutant-list-turns.ts";
import { waitingMutants } from "./mutant-list-waiting.ts";
import { guardMutants } from "./mutant-list-guards.ts";
import { liveCallMutants } from "./mutant-list-live-calls.ts";
import { mutantsOf, type Mutant } from "./mutant.ts";

const rules = ["claimed", "waiting"].map((name) => `test/simulation/${name}.test.ts`);
const unit = (...names: string[]) => names.map((name) => `test/unit/dialer/${name}.test.ts`);

const ofRows = mutantsOf(unit("state-machine", "claims"), [
  [
    "a decision is written over a WAITING row alone",
    'if (row !== undefined && row.state !== "WAITING") return undefined;',
    'if (row !== undefined && row.state === "PLACED") return undefined;',
  ],
  [
    "a claim of another holder stands",
    "if (row !== undefined && !isResend && !isDue) return undefined;",
    'if (row !== undefined && row.state !== "DIALING" && !isResend && !isDue) return undefined;',
  ],
  [
    "a call that is not due is not claimed",
    'const isDue = row?.state === "WAITING" && row.dueAt !== null && row.dueAt <= at;',
    'const isDue = row?.state === "WAITING" && row.dueAt !== null;',
  ],
  [
    "a call of unknown outcome is sent again to an idempotent provider alone",
    'const isResend = row?.state === "UNKNOWN" && isIdempotent(row.route);',
    'const isResend = row?.state === "UNKNOWN";',
  ],
  [
    "every claim since it was surely not placed is kept",
    "claims: [...before.claims, version],",
    "claims: [version],",
  ],
  [
    "a claim lapses no sooner than its holder can have settled",
    "return claimAgeMsMax + timeoutSeconds * 1000 + settleMs;",
    "return claimAgeMsMax + timeoutSeconds;",
  ],
  ["a resend is told from a first request", "resent: before.resent || isResend,", "resent: false,"],
  [
    "a resend goes to the account that the first request went to",
    "const along = (isResend ? before.route : null) ?? route;",
    "const along = route;",
  ],
  [
    "a settlement needs a claim of the row",
    "if (!row.claims.includes(claim)) return undefined;",
    "",
  ],
  [
    "a late success is taken under any claim",
    'if (state === "PLACED") {\n    if (row.state === "PLACED") return undefined;',
    'if (state === "PLACED" && row.claims.at(-1) === claim) {\n    if (row.state === "PLACED") return undefined;',
  ],
  [
    "a late success is taken from any state",
    'if (row.state === "PLACED") return undefined;\n    const placed',
    'if (row.state !== "DIALING" && row.state !== "UNKNOWN") return undefined;\n    const placed',
  ],
  [
    "what is placed keeps nothing of whom it was to",
    "request: erasesPayload ? null : row.request,",
    "",
  ],
  [
    "all but a success is taken under the last claim alone",
    "if (row.claims.at(-1) !== claim) return undefined;",
    "",
  ],
  [
    "what answers a resend leaves it unknown",
    'const isUnknown = state === "UNKNOWN" || row.resent;',
    'const isUnknown = state === "UNKNOWN";',
  ],
  [
    "a settlement leaves the states that it may leave",
    'if (!states[row.state].settlesTo.includes(isUnknown ? "UNKNOWN" : state)) return undefined;',
    "",
  ],
  [
    "an answer that comes after the lapse is taken",
    'settlesTo: ["WAITING", "REJECTED"],',
    'settlesTo: ["REJECTED"],',
  ],
  [
    "a claim does not lapse before its time",
    'if (row.state !== "DIALING" || row.dueAt === null || row.dueAt > write.at) return undefined;',
    'if (row.state !== "DIALING") return undefined;',
  ],
  [
    "a claim does not go back to waiting by the passing of time",
    'return toUnknown(row, { reason: "claim_lapsed", dueAt }, write);',
    'return enterState(row, { state: "WAITING", reason: "claim_lapsed", dueAt }, write);',
  ],
  [
    "an unknown outcome is looked into until the review",
    "if (write.at < row.unknownSince + reviewAfterSeconds * 1000) return undefined;",
    "",
  ],
  [
    "an operator takes a call out of the states that are named",
    "if (!states[row.state].actions.some((allowed) => actionsTo[action.to].includes(allowed))) { return undefined; }",
    "",
  ],
  [
    "an operator's act keeps the claims",
    "const next = enterState(row, { state: action.to, reason, by }, write);",
    "const next = { ...enterState(row, { state: action.to, reason, by }, write), claims: [] };",
  ],
  [
    "a redial is known by its id",
    'return action.to === "REDIALED" ? { ...next, redialedAs: action.redialedAs } : next;',
    "return next;",
  ],
  [
    "what waits again has no claims",
    "...(isWaiting ? { claims: [], resent: false, lostUntil: null, unknownSince: null, misses: 0 } : {}),",
    "",
  ],
  [
    "what a later version wrote of a row is kept",
    "  const next: CallRow = {\n    ...row,\n    version,",
    "  const next: CallRow = {\n    ...parsed(row),\n    version,",
    [
      "\n/** A wait for the same reason",
      '\nfunction parsed({ version: _, ...row }: CallRow): CallRow {\n  const known = firstRow({ id: row.id, requestId: "", client: row.client, acceptedAt: row.acceptedAt, request: row.request ?? { phone_number: "", agent_id: row.agentId } }, "", "");\n  return Object.fromEntries(Object.entries({ ...row, version: "" }).filter(([name]) => name in known)) as unknown as CallRow;\n}\n\n/** A wait for the same reason',
    ],
  ],
]);

const ofDialing = [
  ...mutantsOf(
    [...unit("orders", "hours", "unknown", "a-call", "delivery", "redials"), ...rules],
    [
      [
        "what is not due is left alone",
        "if (call === undefined || (row !== undefined && !isDue(row, known.now))) {",
        "if (call === undefined) {",
      ],
      [
        "a row's own call is dialed, and not what a message says",
        "const call = row === undefined ? delivered : toCall(row);\nif (call === undefined ||",
        "const call = delivered ?? (row && toCall(row));\nif (call === undefined ||",
      ],
      [
        "a call whose time is over is not dialed",
        "if (at >= expiryOf(call, plan)) return",
        "if (at < 0) return",
      ],
      [
        "a cancelled call is not dialed",
        "const cancelled = findCancellation(call, documents);",
        "const cancelled = undefined;",
        ["const cancelled = findCancellation(call, read);", "const cancelled = undefined;"],
      ],
      [
        "who is on the do-not-call list is never claimed",
        "if (hashes !== undefined && isOnDoNotCallList({ hashes, client: call.client }, documents, hashKeys)) {\n    return { state:",
        "if (hashes?.length === 0) {\n    return { state:",
      ],
      [
        "a call waits for its calling hours",
        'if (closed !== undefined) return { kind: "write", decided: closed };',
        "",
        [
          "if (settings.schedule.closedBy(call.request, route, now) === undefined) return undefined;",
          "if (settings.plan !== undefined) return undefined;",
        ],
        [
          "return decideByHours(settings.schedule.opening(call.request, route, { from: now, until: expiresAt }), now);",
          "void decideByHours;\n  return undefined;",
        ],
      ],
      [
        "what is paused waits",
        'if (isPaused(of, route, documents)) return "paused";',
        "",
        [
          'return isPaused(of, route, read) ? toWaiting("paused", claim) : undefined;',
          "return undefined;",
        ],
      ],
      [
        "a call without a route waits, and is not refused",
        'if (route === undefined) return wait(row, "route_gone", now);',
        'if (route === undefined) return { kind: "write", decided: { state: "REJECTED", reason: "no_route" } };',
      ],
      [
        "an unknown outcome comes to a person at last",
        'if (isOver) return { kind: "review", row };',
        "",
      ],
    ],
  ),
  ...mutantsOf(
    [...unit("claims", "settlement", "redials", "orders", "hours", "caps", "a-call"), ...rules],
    [
      [
        "nobody dials but the holder of the claim",
        'if ("kind" in claim) return claim;',
        'if ("kind" in claim && claim.kind !== "done") return claim;\n    if ("kind" in claim) return await dialClaimed({ dial, row: dial.row ?? Object({}), version: "", startedAt: clock.now() }, slots, delivery);',
      ],
      [
        "a holder who stood still does not dial on an old claim",
        'if (age > claimAgeMsMax + laterMs || age < -clockStepMs) return toWaiting("claim_too_old", claim);',
        "void age;",
      ],
      [
        "calling hours are looked at again when a call is dialed",
        "if (settings.schedule.closedBy(call.request, route, now) === undefined) return undefined;",
        "if (settings.plan !== undefined) return undefined;",
      ],
      [
        "a call is not made again that was placed after all",
        'if (ancestorFacts.some(({ placed }) => placed === "yes")) {',
        'if (ancestorFacts.includes(states.CANCELLED) && ancestorFacts.some(({ placed }) => placed === "yes")) {',
      ],
      [
        "a call is not made again while the one before may be under way",
        "if (unreadable.size > 0 || isUnderWay) {",
        "if (unreadable.size > 0) {",
      ],
      [
        "a number's cap is kept",
        "(count.isCounted ? undefined : checkCap(claim, count.freeAt, deps)) ??",
        "undefined ??",
      ],
      [
        "a claim whose write was lost is read back by its version",
        "if (current?.version === version) return toClaim();",
        "",
      ],
      [
        "what is claimed and given up is settled should it still land",
        "await sendOutcome(notSent, givenUpSeconds, deps);",
        "void notSent;",
      ],
      [
        "a settlement that was lost hands the message back",
        'if (settling === "lost") return { kind: "retry" };',
        'if (settling === "lost") return { kind: "done", state };',
      ],
      [
        "a request that could not end before the deadline is not begun",
        "if (now + claimAgeMsMax + timeoutSeconds * 1000 + afterRequestMs > deadline) {",
        "if (now > deadline) {",
      ],
      [
        "the request of a resend is the first one's",
        "const attempt = row.attempt - (row.claims.length - 1);",
        "const attempt = row.attempt;",
      ],
    ],
  ),
  ...mutantsOf(
    [...unit("settlement", "unknown", "claims", "breakers"), ...rules],
    [
      [
        "an unknown outcome is not sent again",
        'if (outcome.kind === "unknown" || row.resent) {',
        'if (outcome.kind === "unknown") return waiting(outcome.code, now + 5000);\n  if (row.resent) {',
      ],
      [
        "a settlement is applied again on a conflict",
        "current = undefined;\n      if (++conflicts > conflictsMax) break;",
        'return "refused";',
      ],
      [
        "a settlement that the ledger does not take goes onto the queue",
        "  return sendOutcome(settlement, 0, deps);\n}",
        '  return "written";\n}',
      ],
      [
        "a settlement whose write was lost is not written twice",
        'if (current?.version === version) return "written";',
        "",
      ],
      [
        "an outcome whose row a later version wrote comes again",
        'if (unreadable.has(call_id)) throw new Error("the row is of a later version");',
        "",
      ],
      [
        "a Retry-After about one number delays its row",
        "const askedMs = blamesNumber === true ? Math.min(retryAfterSeconds * 1000, retryAfterMsMax) : 0;",
        "const askedMs = 0;",
      ],
      [
        "a placement that comes after a redial is said",
        'deps.log("alarm", "call.placed_late", { call_id: id, state: row.state });',
        "",
      ],
    ],
  ),
  ...mutantsOf(
    [...unit("caps"), ...rules],
    [
      [
        "a number's entries are written on the version",
        "if (await writeAll(keys, added.next, current)) return { isCounted: true };",
        "await writeAll(keys, added.next, current);\n          return { isCounted: true };",
      ],
      [
        "a resend that was not counted needs a place",
        "const hasEntry = row.resent && own !== undefined;",
        "const hasEntry = row.resent;",
      ],
      [
        "a holder who stood still takes no later claim's entry",
        "if (own !== undefined && own.at > (row.claimedAt ?? 0) && own.claim !== version) {",
        'if (own?.claim === "none") {',
      ],
      [
        "what may have rung stays counted",
        "const others = entries.filter((one) => one.claim !== version);",
        "const others: typeof entries = [];",
      ],
      [
        "what surely was not placed frees its place",
        "if (await writeAll(keys, others, current)) return;",
        "return;",
      ],
    ],
  ),
];

const ofClients = mutantsOf(unit("client-cancellations", "split"), [
  [
    "a client's order ends its own calls alone",
    "(order.client === null || order.client === client) &&",
    "",
  ],
  [
    "an order that names calls ends no other",
    "(order.indexes === null || hasIndex(order.indexes, indexOf(id)))",
    "true",
  ],
  [
    "a row carries how many calls its request has",
    "batchCalls: call.batchCalls,",
    "batchCalls: 1,",
  ],
]);

/** Each rule of the core that somebody could be phoned twice, at night or never without, and what breaks it. */
export const mutants: readonly Mutant[] = [
  ...ofRows,
  ...lastLookMutants,
  ...claimMutants,
  ...portMutants,
  ...erasureMutants,
  ...restoreMutants,
  ...ofDialing,
  ...ofClients,
  ...orderMutants,
  ...pauseMutants,
  ...waitingMutants,
  ...dispatchMutants,
  ...turnMutants,
  ...guardMutants,
  ...checkMutants,
  ...tryMutants,
  ...liveCallMutants,
  ...headerMutants,
  ...breakerMutants,
  ...answerMutants,
  ...resultMutants,
  ...eventMutants,
  ...hashKeyMutants,
  ...sandboxMutants,
];
