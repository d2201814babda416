import { glob, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");

/**
 * Files that name every rule: the plan's fields with what a plan's accounts are resolved to, the lists of gates, the kinds of
 * documents, the fields of rows, and the words with which rows are packed.
 */
const everyRule = new Set([
  "shared/dial-plan/plan-schema.ts",
  "shared/dial-plan/account-schema.ts",
  "shared/dial-plan/checks.ts",
  "shared/dial-plan/setting-descriptions.ts",
  "shared/dial-plan/route-table.ts",
  "shared/rules/resolved-call.ts",
  "shared/rules/gates.ts",
  "shared/ports/document-kinds.ts",
  "shared/calls/call-row.ts",
  "shared/ports/stored-row.ts",
  "shared/ports/packing-dictionary.ts",
]);

/** Folders of a port's implementations. Each has its own answer for a platform or a provider, and decides nothing. */
const implementations = ["shared/aws/", "shared/cloudflare/", "shared/providers/"];

interface Named {
  /** Names of the rule's reasons, documents, plan fields and functions. */
  words: RegExp;
  /** Maximum files that name it. It may only fall. */
  most: number;
  /** Files whose subject is the rule, beside its module: what it counts, who keeps it, the port that implements it. */
  room?: readonly string[];
  /** Files or folders where the same words mean something else. */
  not?: readonly string[];
}

/** Maximum files outside a rule's module and room that name the rule. */
const outsideMax = 5;

const rules: Readonly<Record<string, Named>> = {
  restore: {
    words:
      /isSuspended|isLedgerSuspended|"restored"|restoreKey|lastRestore|findRestore\b|isTooFarAhead/,
    most: 5,
    room: [
      "runtime/epoch.ts",
      "operator/ledger.ts",
      "calls/restore-row.ts",
      "policy/ledger-epoch.ts",
    ],
  },
  "lost-by-restore": { words: /mayHaveBeenLost|mayHaveBeenDialed|mayHaveHadRow/, most: 4 },
  erasure: {
    words: /findErasure|kind: "erasure"|"erased"|erasedAt/,
    // The result of an action on many calls.
    not: ["operator/bulk.ts"],
    most: 4,
    room: ["calls/erase-row.ts", "policy/erase-number.ts", "policy/number-entries.ts"],
  },
  cancellation: {
    words: /findCancellation|cancellationKeysOf|cancellationKeyOf|isCovered/,
    most: 3,
    room: ["policy/cancellation-orders.ts"],
  },
  expiry: {
    // EXPIRED is the state of calls that hours and caps end, too.
    words: /expiryOf|"expired"/,
    most: 5,
    room: ["dial-plan/expiry.ts"],
    // Counters and tokens that end.
    not: ["policy/day-counts.ts", "operator/tokens.ts"],
  },
  destination: { words: /mayBeDialed|mayBeCalled|destination_denied/, most: 3 },
  "do-not-call": {
    words: /isOnDoNotCallList|doNotCallKeysOf|"?\bdo_not_call\b"?|doNotCallKeyOf|isOfOtherKey/,
    most: 5,
    room: [
      "operator/do-not-call.ts",
      "operator/find-listed.ts",
      "policy/dnc-entries.ts",
      "policy/number-entries.ts",
      "record/renew-entries.ts",
    ],
  },
  context: { words: /contextProblem|context_not_carried/, most: 3 },
  route: {
    words: /\broute_gone\b|\broute\.gone\b/,
    most: 4,
  },
  "not-before": {
    words: /\bnot_before\b|\bnotBefore: *number \| null|call\.notBefore/,
    most: 5,
    room: ["calls/view-schemas.ts"],
  },
  hours: {
    words: /\.opening\(|closedBy|["'`]hours:|\bhours: \(|\bhours:\s*"/,
    most: 5,
    room: ["dial-plan/schedule.ts", "telephony/calling-hours.ts", "calls/transitions.ts"],
  },
  pause: { words: /isPaused|pauseKeysOf|pauseKeyOf|\bpaused: [("]|"paused"/, most: 5 },
  "caller-ids": {
    words: /withCallerId|callerIdsKeyOf|isPoolResting|\bcaller_ids\b|callerIds/,
    most: 3,
  },
  "calls-per-day": {
    words: /callsPerDay|\bcalls_per_day\b|isDayFull|enterDay|leaveDay/,
    most: 2,
    // A client's guard has a limit of the same name.
    not: ["guard", "token-kinds.ts", "granted-rights.ts", "clients.ts", "clients.tsx"],
  },
  "live-calls": {
    words: /liveCalls\b|\blive_calls\b|liveCallsIn|liveKeysOf|leaveLive/,
    most: 5,
    room: ["record/live-calls.ts", "sweep/sweep-live-calls.ts"],
    // Sums of requests count the calls that are under way.
    not: ["campaigns.ts", "campaigns.tsx", "request-progress.ts"],
  },
  pace: {
    words: /\bpace\b *[=!]==|paceKeyOf|findNextPermitAt|"pace"|\bpace: \(|takePermits|arrivalUs/,
    most: 5,
    room: ["record/permits.ts", "telephony/rate.ts", "ports/documents.ts"],
  },
  breaker: {
    words:
      /breakerKeysOf|breakerNamesOf|mayProbe|listOpenBreakers|listNotClosedBreakers|\bbreaker_open\b|accountBreakerOf|backlogBreakerOf/,
    most: 5,
    room: ["dialer/breakers/", "policy/breakers.ts"],
    not: ["events/receiver-health.ts", "events/deliver-events.ts"],
  },
  checks: {
    words: /route\.checks|\.checks\b|askChecks|findCheck|checkBreakerOf|validUntil|check_outdated/,
    most: 5,
    room: ["dial/ask-checks.ts", "runtime/ask-check.ts"],
  },
  cap: {
    words: /capsOf|\bmax_calls\b|judgeFull|createCaps|\bfreeAt\(times/,
    most: 5,
    room: ["record/number-caps.ts", "telephony/frequency-cap.ts"],
  },
  turn: {
    words: /"turn"|\bturn: (\(|")|freshAgeMsMax|\bbusy: (false|true|isBusy|Readonly)|\.busy\b/,
    most: 5,
    // Calls that were busy.
    not: ["console/results/results.tsx", "console/parts/export.tsx"],
  },
  capacity: {
    words: /\bno_capacity\b|requestsAtOnce|account\.concurrency|\)\.concurrency/,
    most: 4,
    not: ["sweep/compact-journal.ts"],
  },
  "claim-age": { words: /claimAgeMsMax|claim_too_old|clockStepMs/, most: 3 },
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
  it.each(Object.entries(rules))("%s", (rule, { words, most, room = [], not = [] }) => {
    const module = `rules/${rule}.ts"`;
    const beside = `"./${rule}.ts"`;
    const naming = [...sources].flatMap(([path, text]) => {
      const isNamed =
        words.test(text) ||
        text.includes(module) ||
        (path.startsWith("shared/rules/") && text.includes(beside)) ||
        path.endsWith(module.slice(0, -1));
      return isNamed && ![...not, ...implementations].some((part) => path.includes(part))
        ? path
        : [];
    });
    expect(naming, rule).toContain(`shared/rules/${rule}.ts`);
    expect(naming.length, naming.join("\n")).toBeLessThanOrEqual(most);
    const own = [...room, `shared/rules/${rule}.ts`];
    const outside = naming.filter((path) => !own.some((part) => path.includes(part)));
    expect(outside.length, outside.join("\n")).toBeLessThanOrEqual(outsideMax);
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
