import { glob, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");

/**
 * Files that name every rule: the plan's fields with what a plan's accounts are resolved to, the lists of gates, the kinds of
 * documents, and the words with which rows are packed.
 */
const everyRule = new Set([
  "shared/dial-plan/plan-schema.ts",
  "shared/dial-plan/account-schema.ts",
  "shared/dial-plan/setting-descriptions.ts",
  "shared/dial-plan/route-table.ts",
  "shared/rules/resolved-call.ts",
  "shared/rules/gates.ts",
  "shared/ports/document-kinds.ts",
  "shared/ports/packing-dictionary.ts",
]);

interface Named {
  /** Names of the rule's reasons, documents, plan fields and functions. */
  words: RegExp;
  /** Maximum files that name it. It may only fall. */
  most: number;
  /** Files or folders where the same words mean something else. */
  not?: readonly string[];
}

const rules: Readonly<Record<string, Named>> = {
  restore: {
    words: /isSuspended|isLedgerSuspended|"restored"|restoreKey|isTooFarAhead/,
    most: 29,
  },
  "lost-by-restore": { words: /mayHaveBeenLost|mayHaveBeenDialed|mayHaveHadRow/, most: 7 },
  erasure: { words: /findErasure|erasureKeyOf|"erased"|erasedAt/, most: 9 },
  cancellation: {
    words: /findCancellation|cancellationKeysOf|cancellationKeyOf|isCovered/,
    most: 6,
  },
  expiry: {
    words: /expiryOf|state(: |\) === | === |\.)"EXPIRED"|"expired"/,
    most: 13,
    // Counters, tokens and paths of hours that end.
    not: ["policy/day-counts.ts", "operator/tokens.ts"],
  },
  destination: { words: /mayBeDialed|mayBeCalled|destination_denied/, most: 3 },
  "do-not-call": {
    words: /isOnDoNotCallList|doNotCallKeysOf|"?\bdo_not_call\b"?|doNotCallKeyOf|isOfOtherKey/,
    most: 12,
    // Names of a path and of provider's reasons.
    not: ["shared/providers/"],
  },
  context: { words: /contextProblem|context_not_carried/, most: 13 },
  route: {
    words: /\broute_gone\b|\broute\.gone\b/,
    most: 6,
  },
  "not-before": {
    words: /\bnot_before\b|\bnotBefore: *number \| null|call\.notBefore/,
    most: 7,
  },
  hours: {
    words: /\.opening\(|closedBy|["'`]hours:|\bhours: \(|\bhours:\s*"/,
    most: 7,
  },
  pause: { words: /isPaused|pauseKeysOf|pauseKeyOf|\bpaused: [("]|"paused"/, most: 5 },
  "caller-ids": {
    words: /withCallerId|callerIdsKeyOf|isPoolResting|\bcaller_ids\b|callerIds/,
    most: 7,
  },
  "calls-per-day": {
    words: /callsPerDay|\bcalls_per_day\b|isDayFull|enterDay|leaveDay/,
    most: 5,
    // A client's guard has a limit of the same name.
    not: ["guard", "token-kinds.ts", "granted-rights.ts", "clients.ts", "clients.tsx"],
  },
  "live-calls": {
    words: /liveCalls\b|\blive_calls\b|liveCallsIn|liveKeysOf|leaveLive/,
    most: 11,
    // Sums of requests count the calls that are under way.
    not: ["campaigns.ts", "campaigns.tsx", "request-progress.ts"],
  },
  pace: {
    words: /\bpace\b *[=!]==|paceKeyOf|findNextPermitAt|"pace"|\bpace: \(|takePermits|arrivalUs/,
    most: 16,
  },
  breaker: {
    words:
      /breakerKeysOf|breakerNamesOf|mayProbe|listOpenBreakers|listNotClosedBreakers|\bbreaker_open\b|accountBreakerOf|backlogBreakerOf/,
    most: 12,
    not: ["events/receiver-breaker.ts", "events/deliver-events.ts"],
  },
  checks: {
    words: /route\.checks|\.checks\b|askChecks|findCheck|checkBreakerOf|validUntil|check_outdated/,
    most: 17,
  },
  cap: { words: /capsOf|\bmax_calls\b|judgeFull|createCaps|freeAt\(/, most: 13 },
  turn: {
    words: /"turn"|\bturn: (\(|")|freshAgeMsMax|\bbusy: (false|true|isBusy|Readonly)|\.busy\b/,
    most: 12,
    // Calls that were busy.
    not: ["console/results/results.tsx", "shared/providers/"],
  },
  capacity: {
    words: /\bno_capacity\b|requestsAtOnce|account\.concurrency|\)\.concurrency/,
    most: 10,
    not: ["sweep/compact-journal.ts"],
  },
  "claim-age": { words: /claimAgeMsMax|claim_too_old|clockStepMs/, most: 8 },
  "earlier-tries": { words: /\bplaced_before\b|\bancestor_unknown\b/, most: 2 },
};

async function readSources(): Promise<Map<string, string>> {
  const sources = new Map<string, string>();
  for await (const path of glob("{functions,shared}/**/*.{ts,tsx}", { cwd: root })) {
    if (!path.includes("generated") && !everyRule.has(path))
      sources.set(path, await readFile(join(root, path), "utf8"));
  }
  return sources;
}

const sources = await readSources();

describe("a rule is named by few files", () => {
  it.each(Object.entries(rules))("%s", (rule, { words, most, not = [] }) => {
    const module = `rules/${rule}.ts"`;
    const naming = [...sources].flatMap(([path, text]) => {
      const isNamed =
        words.test(text) || text.includes(module) || path.endsWith(module.slice(0, -1));
      return isNamed && !not.some((part) => path.includes(part)) ? path : [];
    });
    expect(naming, rule).toContain(`shared/rules/${rule}.ts`);
    expect(naming.length, naming.join("\n")).toBeLessThanOrEqual(most);
  });

  it("is said of each rule", async () => {
    const others = new Set(["rule", "gates", "resolved-call", "first-row", "texts"]);
    const files: string[] = [];
    for await (const path of glob("*.ts", { cwd: join(root, "shared/rules") }))
      files.push(path.slice(0, -3));
    expect(Object.keys(rules).toSorted()).toEqual(
      files.filter((file) => !others.has(file)).toSorted(),
    );
  });
});
