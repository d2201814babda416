import { hmacUnder } from "../lib/hmac.ts";
import * as z from "../lib/zod.ts";

/** Maximum arms of a split, and weight of one. */
const armsMax = 10;
const weightMax = 1_000_000;
/** Bits of the number that is drawn for a callee and an arm. */
const drawnBits = 48;

/** The weights of a split's arms: agents by their shares of the calls. */
export const armsSchema = z.record(z.string(), z.int().check(z.minimum(0), z.maximum(weightMax)), {
  error: 'must be agents by weight, such as {"agent_a": 80, "agent_b": 20}',
});

/** Difference of two shares, in percentage points, that a split is made to find. */
export const detectPointsSchema = z.number().check(z.minimum(1), z.maximum(50));
export const detectPointsDefault = 5;

/** An agent whose calls are divided among other agents, its arms, so that their results can be compared. */
export interface Split {
  /** Weight of each arm. An arm of weight 0 gets no further calls. */
  arms: Readonly<Record<string, number>>;
  detectPoints: number;
}

/** Fields of an agent that is a split. */
const splitFields: ReadonlySet<string> = new Set(["split", "detectPoints"]);

/** The parts of a plan, as written, on which a split depends. */
interface PlanOfArms {
  agents: Readonly<Record<string, Readonly<Record<string, unknown>> & { split?: unknown }>>;
  results?: unknown;
}

/** Describes what is wrong with the agent `name`, which is a split. Paths are relative to it. */
export function splitProblems(
  name: string,
  arms: Readonly<Record<string, number>>,
  { agents, results }: PlanOfArms,
): { path: string[]; message: string }[] {
  const problems: { path: string[]; message: string }[] = [];
  if (results === undefined) {
    const message = "needs results in the plan, which report how a call ended";
    problems.push({ path: ["split"], message });
  }
  if (name === "*") problems.push({ path: [], message: "must be a route: * cannot be a split" });
  for (const field of Object.keys(agents[name] ?? {})) {
    if (splitFields.has(field)) continue;
    problems.push({ path: [field], message: "is a field of a route: each arm has its own" });
  }
  const count = Object.keys(arms).length;
  if (count > armsMax) {
    problems.push({ path: ["split"], message: `must have at most ${armsMax} arms` });
  }
  if (Object.values(arms).every((weight) => weight === 0)) {
    problems.push({ path: ["split"], message: "must have an arm whose weight is above 0" });
  }
  for (const arm of Object.keys(arms)) {
    if (!Object.hasOwn(agents, arm) || arm === "*") {
      problems.push({ path: ["split", arm], message: "is not an agent of the plan" });
    } else if (agents[arm]?.split !== undefined) {
      problems.push({ path: ["split", arm], message: "is a split itself" });
    }
  }
  return problems;
}

/**
 * Returns a function that makes the key of a split's first round from its name. It follows from HASH_KEY, so that callees keep
 * their arms where the ledger is restored to a time before that round. From then on the round has it, and no change of HASH_KEY
 * moves it.
 */
export function armsKeysUnder(key: string): (split: string) => string {
  return (split) => hmacUnder(key)(`arms of ${split}`);
}

/**
 * Returns the arm that calls a number, by weighted rendezvous: each arm draws a number for the callee, and the lowest
 * one for its weight wins. A callee keeps its arm while the weights do not change, and a change of weights moves as
 * few callees as possible. Ties do not occur: 48 bits are drawn.
 *
 * @param name the split's name
 * @param phoneNumber E.164, canonical
 * @param key at most 64 ASCII characters, by which nobody else can tell a callee's arm
 * @throws if no arm has a weight
 */
export function chooseArm(
  { name, phoneNumber }: { name: string; phoneNumber: string },
  arms: Split["arms"],
  key: string,
): string {
  const draw = hmacUnder(key);
  let chosen: string | undefined;
  let lowest = Infinity;
  for (const [arm, weight] of Object.entries(arms)) {
    if (weight === 0) continue;
    const bytes = Buffer.from(draw(JSON.stringify([name, arm, phoneNumber])), "base64url");
    const drawn = (bytes.readUIntBE(0, drawnBits / 8) + 0.5) / 2 ** drawnBits;
    const score = -Math.log(drawn) / weight; // exponential, at the rate of the weight: the lowest is this arm's by its share
    if (score >= lowest) continue;
    lowest = score;
    chosen = arm;
  }
  if (chosen === undefined) throw new Error("the split has no arm with a weight");
  return chosen;
}

/** The part of a plan that has its splits. */
export interface PlanOfSplits {
  splits: Readonly<Record<string, Split>>;
}

/** Returns the split of this name. Undefined: the name is an agent's own. */
export function findSplit(agentId: string, { splits }: PlanOfSplits): Split | undefined {
  return Object.hasOwn(splits, agentId) ? splits[agentId] : undefined;
}

/** Returns the agents that make the calls to an agent: itself, or the arms of a split. */
export function agentsOf(agentId: string, plan: PlanOfSplits): string[] {
  const split = findSplit(agentId, plan);
  return split === undefined ? [agentId] : Object.keys(split.arms);
}

/** Returns those of them that may get a call by today's weights. */
export function agentsBehind(agentId: string, plan: PlanOfSplits): string[] {
  const { arms } = findSplit(agentId, plan) ?? {};
  return agentsOf(agentId, plan).filter((agent) => arms === undefined || (arms[agent] ?? 0) > 0);
}
