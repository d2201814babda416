import { clientNamed } from "../calls/ids.ts";
import { parseSplitMark } from "../calls/split-mark.ts";
import type { Split } from "../dial-plan/splits.ts";
import type {
  DocumentKey,
  DocumentsRead,
  StoredDocument,
  ValueOf,
} from "../ports/document-kinds.ts";
import type { Addition, Documents } from "../ports/documents.ts";
import { type ArmResults, sizeOf } from "./split-verdict.ts";
import type { UsageStep } from "./usage-ends.ts";

// A split's results are counted by round: from one change of its weights or of its size to the next. A call carries the round in
// which its agent was chosen, and its whole chain has the same round.

/** The round of a split: since when it is as it is, and the key by which arms are chosen in every round. */
export type Round = Pick<ValueOf<"split">, "key" | "since">;

/** Tries of writing a round that others change at the same time. */
const triesMax = 5;

/** Names the document of a split's round. */
export function roundKeyOf(name: string): DocumentKey<"split"> {
  return { kind: "split", key: name };
}

/**
 * Returns the round that is under way. The first call under other weights, or another size of the verdict, begins one.
 *
 * @param firstKey key of the first round; it stands in all later ones
 * @throws if the documents cannot be reached, or others change the round each time
 */
export async function findRound(
  { name, split, firstKey }: { name: string; split: Split; firstKey: string },
  now: number,
  { documents, freshVersion }: { documents: Documents; freshVersion: () => string },
): Promise<Round> {
  const document = roundKeyOf(name);
  for (let tries = 0; tries < triesMax; tries++) {
    const current = (await documents.read([document])).get("split", name);
    if (current !== undefined && isOf(current.value, split)) return current.value;
    const key = current?.value.key ?? firstKey;
    const { arms, detectPoints } = split;
    const value = { key, arms: { ...arms }, detectPoints, since: now };
    const next = { ...document, version: freshVersion(), value, expiresAt: null };
    const [isMine] = await documents.write([{ next, seen: current?.version ?? null }]);
    if (isMine === true) return value;
  }
  throw new Error("the split's round is changed again and again");
}

/** True if a split still has the arms, the weights and the size with which a round has begun. */
function isOf({ arms, detectPoints }: ValueOf<"split">, split: Split): boolean {
  const names = Object.keys(arms);
  return (
    detectPoints === split.detectPoints &&
    names.length === Object.keys(split.arms).length &&
    names.every((name) => Object.hasOwn(split.arms, name) && arms[name] === split.arms[name])
  );
}

/** Names the document of an arm's results. */
export function resultsKeyOf(
  split: { name: string; since: number },
  arm: string,
): DocumentKey<"split-results"> {
  return { kind: "split-results", key: JSON.stringify([split.name, split.since, arm]) };
}

/** Returns an arm's results, where its document was read. */
export function resultsIn(
  documents: DocumentsRead,
  split: { name: string; since: number },
  arm: string,
): ArmResults {
  const { kind, key } = resultsKeyOf(split, arm);
  const { ended = 0, answered = 0, completed = 0 } = documents.get(kind, key)?.value ?? {};
  return { ended, answered, completed };
}

/** Results that say something about an agent. The others say nothing: `unknown`, or an end without a result. */
const known: ReadonlySet<string> = new Set([
  "completed",
  "voicemail",
  "no_answer",
  "busy",
  "declined",
  "failed",
  "invalid",
  "blocked",
]);

/** Returns what steps of calls add to the results of splits. A chain ends once (chain-ends.ts). */
export function splitAdditions(steps: readonly UsageStep[], expiresAt: number): Addition[] {
  const sums = new Map<string, Addition>();
  for (const { of, chains = {} } of steps) {
    // Tests show nothing about people.
    if (of.split === undefined || clientNamed(of.client).mode === "test") continue;
    for (const [outcome, count] of Object.entries(chains)) {
      if (!known.has(outcome)) continue;
      const document = resultsKeyOf(parseSplitMark(of.split), of.agentId);
      const sum = sums.get(document.key)?.counters ?? {};
      const add = (name: keyof ArmResults) => (sum[name] = (sum[name] ?? 0) + count);
      add("ended");
      if (outcome === "completed" || outcome === "voicemail") add("answered");
      if (outcome === "completed") add("completed");
      sums.set(document.key, { ...document, counters: sum, expiresAt });
    }
  }
  return [...sums.values()];
}

/** A split's round with the results of its arms. Arms without a weight have none to compare. */
export interface RoundResults {
  /** Undefined: no call has come since the split was last changed. */
  round: StoredDocument<"split"> | undefined;
  arms: (ArmResults & { arm: string; weight: number })[];
  /** Chains that each arm with a weight needs for the verdict. */
  size: number;
}

/** Reads the round of a split that is under way, and its results. */
export async function readRound(
  { name, split }: { name: string; split: Split },
  documents: Pick<Documents, "read">,
): Promise<RoundResults> {
  const document = roundKeyOf(name);
  const current = (await documents.read([document])).get("split", name);
  const round = current && isOf(current.value, split) ? current : undefined;
  const of = { name, since: round?.value.since ?? 0 };
  const names = Object.keys(split.arms);
  const read = round && (await documents.read(names.map((arm) => resultsKeyOf(of, arm))));
  const arms = names.map((arm) => ({
    arm,
    weight: split.arms[arm] ?? 0,
    ...(read === undefined ? noResults : resultsIn(read, of, arm)),
  }));
  const compared = arms.filter(({ weight }) => weight > 0).length;
  return { round, arms, size: sizeOf({ arms: compared, points: split.detectPoints }) };
}

const noResults: ArmResults = { ended: 0, answered: 0, completed: 0 };
