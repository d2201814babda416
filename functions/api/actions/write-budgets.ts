import type { Context } from "hono";
import { hourMs } from "#shared/lib/units.ts";
import { countWrites } from "#shared/policy/write-counts.ts";
import type { ApiEnv, RouteDeps } from "../http/context.ts";
import { answerUnprocessable } from "../http/problem.ts";
import { writerOf } from "./writer.ts";

/** Maximum writes of a client, or of an operator's token, in an hour of the clock, and what they are called. */
export const writeBudgets = {
  receivers: { max: 100, text: "receivers put and secrets rotated" },
  tests: { max: 200, text: "test events" },
  sentFiles: { max: 500, text: "files begun" },
  sentParts: { max: 20_000, text: "steps of parts" },
  tokens: { max: 1_000, text: "clients and tokens made or changed" },
} as const;

/**
 * Counts a write of a request's client or operator. Call it before the write. Do not call it for a write that stops
 * calls or removes rights, because such writes have no maximum.
 *
 * @returns the answer 422 above the hour's maximum
 * @throws UnreachableError if the ledger cannot count it, which is answered 503
 */
export async function refuseAboveBudget(
  c: Context<ApiEnv>,
  what: keyof typeof writeBudgets,
  deps: RouteDeps,
): Promise<Response | undefined> {
  const { clock, log } = deps;
  const at = clock.now();
  const writer = writerOf(c);
  const counters = { [what]: 1 };
  const counted = await countWrites({ writer, at, withinMs: hourMs, counters }, deps);
  const { max, text } = writeBudgets[what];
  if ((counted[what] ?? 0) <= max) return undefined;
  const { client, tokenId } = c.get("caller");
  log("warning", "guard.refused", { client, token_id: tokenId, count: 1, reason: what });
  const until = new Date((Math.floor(at / hourMs) + 1) * hourMs).toISOString();
  const whose = "client" in writer ? "client" : "token";
  const detail = `exceeds the ${whose}'s ${max} ${text} an hour; the next hour begins at ${until}`;
  return answerUnprocessable(c, [{ pointer: "", detail }]);
}
