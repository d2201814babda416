/** Chains of invocations as Lambda counts them, which stops those of sixteen. */
import { nextTrace } from "#infra/local/lineage.ts";
import type { Invocation, World } from "./world.ts";

/** Maximum invocations of one function in a chain. */
export const chainMax = 8;

/** Lambda's function that an invocation is one of: sweeps run in the dialer's. */
function functionOf({ name }: Invocation): string {
  if (name === "dispatch") return "dispatcher";
  return name.endsWith("dialer") || name === "sweep" || name === "upkeep" ? "dialer" : "api";
}

/** Returns the trace that a message of the current invocation is sent with. Empty outside of one. */
export function traceNow(world: World): string {
  const asking = world.whoAsks();
  if (asking === undefined) return "";
  return asking.trace ?? nextTrace([], functionOf(asking)) ?? "";
}

/**
 * Has the current invocation continue the chains of its messages.
 *
 * @returns the invocations of its function in the longest one
 */
export function continueChains(world: World, traces: readonly string[]): number {
  const asking = world.whoAsks();
  if (asking === undefined) return 0;
  const name = functionOf(asking);
  const trace = nextTrace(traces, name);
  if (trace === undefined) return Infinity;
  asking.trace = trace;
  return Number(new RegExp(`\\b${name}:(\\d+)`).exec(trace)?.[1]);
}
