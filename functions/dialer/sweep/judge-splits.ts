import { readRound } from "#shared/policy/split-rounds.ts";
import type { DialerDeps } from "../runtime/context.ts";
import type { SweepTime } from "./sweep-time.ts";

/**
 * Stores the verdict on each split of the plan once all its arms have enough chains, once in a round. Somebody who
 * looks at a difference again and again, and stops when he likes it, finds a difference that does not exist. The
 * results of that moment are stored.
 *
 * @throws if the documents cannot be reached
 */
export async function judgeSplits(time: SweepTime, deps: DialerDeps): Promise<void> {
  const { documents, settings, clock, random, log } = deps;
  for (const [name, split] of Object.entries(settings.plan.splits)) {
    if (time.isOver()) return;
    const { round, arms, size } = await readRound({ name, split }, documents);
    const compared = arms.filter(({ weight }) => weight > 0);
    if (round === undefined || round.value.verdict !== undefined || compared.length < 2) continue;
    if (compared.some(({ ended }) => ended < size)) continue;
    const results = compared.map(({ arm, ended, answered, completed }) => {
      return [arm, { ended, answered, completed }] as const;
    });
    const verdict = { at: clock.now(), arms: Object.fromEntries(results) };
    const value = { ...round.value, verdict };
    const next = { ...round, version: random.version(), value };
    const [isMine] = await documents.write([{ next, seen: round.version }]);
    if (isMine === true) log("info", "split.judged", { agent_id: name, count: size });
  }
}
