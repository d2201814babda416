import type { ResultStatus } from "#shared/calls/call-result.ts";
import type { CallRow } from "#shared/calls/call-row.ts";
import { firstIdOf } from "./split-rules.ts";

/** Weights of a split's arms. */
export type Weights = Readonly<Record<string, number>>;

/** Chains that each arm needs by the table of sample sizes, to find a difference of 50 points: by the number of arms. */
const sizes: Readonly<Record<number, number>> = { 2: 16, 3: 20 };
/** Ends that say nothing of an agent: nobody knows them, or the call goes on. */
const unknown: ReadonlySet<ResultStatus> = new Set<ResultStatus>(["unknown", "live"]);
const answered: ReadonlySet<ResultStatus> = new Set<ResultStatus>(["completed", "voicemail"]);

/** Chains of an arm, in the order in which the service stores their counts. */
interface Counts {
  ended: number;
  answered: number;
  completed: number;
}
export const none: Counts = { ended: 0, answered: 0, completed: 0 };

/** Results that a judgement must store. `arms` is undefined where an arm has too few chains. */
export interface Judgement {
  since: number | undefined;
  arms: Readonly<Record<string, Counts>> | undefined;
}

/** Rounds and verdicts of a split as docs/splits.md has them, by what was posted when. */
export function createSplitModel(begun: Weights, now: () => number) {
  /** Round in which each live call was posted, by its id: the time of the first call under its weights. */
  const roundOf = new Map<string, number>();
  /** Weights under which each of them was posted. */
  const weightsOf = new Map<string, string>();
  /** Results with which the verdict of each round was spoken. */
  const verdicts = new Map<number, NonNullable<Judgement["arms"]>>();
  let spoken = 0;
  let weights = begun;
  let round: { since: number; weights: string } | undefined;
  const known = () => JSON.stringify(weights);

  /** Counts the chains of a round by arm, each once, by its last call that was placed. */
  function countChains(rows: readonly CallRow[], since: number): Map<string, Counts> {
    const counts = new Map<string, Counts>();
    const chains = new Set<string>();
    const byNext = new Map(rows.flatMap((row) => (row.next ? [[row.next.id, row]] : [])));
    for (const row of rows) {
      const { next, dueAt, state, agentId } = row;
      const isUnplaced = state === "EXPIRED" || state === "REJECTED" || state === "CANCELLED";
      const result = (isUnplaced ? byNext.get(row.id)?.result : row.result) ?? null;
      const chain = firstIdOf(row);
      const isOver = next === undefined && state === "PLACED" && dueAt === null;
      if (!(isOver || isUnplaced) || result === null || unknown.has(result.status)) continue;
      if (roundOf.get(chain) !== since || chains.has(chain)) continue;
      chains.add(chain);
      const sum = counts.get(agentId) ?? none;
      counts.set(agentId, {
        ended: sum.ended + 1,
        answered: sum.answered + Number(answered.has(result.status)),
        completed: sum.completed + Number(result.status === "completed"),
      });
    }
    return counts;
  }

  return {
    verdicts,
    countChains,
    weightsOf,
    spoken: () => spoken,
    rounds: () => new Set(roundOf.values()),
    currentRound: () => round?.since,
    change(next: Weights): void {
      weights = next;
    },
    /** Notes that a message is delivered: it begins a round, unless the weights are those of the last one. */
    deliver(liveIds: readonly string[]): void {
      if (round?.weights !== known()) round = { since: now(), weights: known() };
      for (const id of liveIds) {
        roundOf.set(id, round.since);
        weightsOf.set(id, round.weights);
      }
    },
    /** Returns what a judgement of these rows must store. */
    judge(rows: readonly CallRow[]): Judgement {
      if (round?.weights !== known()) return { since: undefined, arms: undefined };
      const { since } = round;
      const compared = Object.keys(weights).filter((arm) => (weights[arm] ?? 0) > 0);
      const counts = countChains(rows, since);
      const size = sizes[compared.length] ?? Infinity;
      const isReady = compared.every((arm) => (counts.get(arm)?.ended ?? 0) >= size);
      const arms = Object.fromEntries(compared.map((arm) => [arm, counts.get(arm) ?? none]));
      return { since, arms: isReady ? arms : undefined };
    },
    /** Notes a judgement that is written now. Only the first one of the round that is under way counts. */
    learn({ since, arms }: Judgement): void {
      if (since === undefined || arms === undefined || since !== round?.since) return;
      if (verdicts.has(since)) return;
      verdicts.set(since, arms);
      spoken += 1;
    },
    /** Copies what a ledger knows. Returns a function that puts the copy back: a verdict that it lacks may be spoken again. */
    copy(): () => void {
      const [roundThen, verdictsThen] = [round, [...verdicts]];
      return () => {
        round = roundThen;
        verdicts.clear();
        for (const [since, arms] of verdictsThen) verdicts.set(since, arms);
      };
    },
  };
}
