import type { Facts, ReadFacts, Holder, KeyedBacklog, Verdict, Texts } from "./rule.ts";
import { pauseKeyOf, pauseKeysOf, type ResolvedCall, type ResolvedRoute } from "./resolved-call.ts";
import { parseSplitMark } from "../calls/split-mark.ts";
import { minuteMs } from "../lib/units.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";

/** Time after which a call of a paused split is looked at again, whose agent has left the split. */
const lookMs = 5 * minuteMs;

export { type Pausable, pauseKeyOf, pauseKeysOf } from "./resolved-call.ts";

/**
 * True if one of these pauses keeps calls waiting. A pause with an end needs no look at the clock: its document expires
 * then, and is not read any more.
 */
function isPaused(pauses: readonly DocumentKey<"pause">[], documents: DocumentsRead) {
  return pauses.some(({ kind, key }) => documents.get(kind, key) !== undefined);
}

export function keys({ of, target }: KeyedBacklog): readonly DocumentKey[] {
  return target?.pauses ?? pauseKeysOf(of, undefined);
}

/** Names the pause of the split that has chosen a call's agent. That agent may be no arm of it any more. */
export function splitKeys({
  call: { split },
}: Pick<ResolvedCall, "call">): readonly DocumentKey<"pause">[] {
  return split === undefined ? [] : [pauseKeyOf({ agent: parseSplitMark(split).name })];
}

/** An operator has paused the call's agent, account or client, or its agent is paused for its results. */
export function admit(
  { target, call }: ResolvedCall,
  { documents, at }: Pick<Facts, "documents" | "at">,
): Verdict | undefined {
  if (target === undefined) return undefined;
  if (isPaused(target.pauses, documents)) return { kind: "hold", reason: "paused" };
  // The dispatcher dispatches the backlog, so the call gives its place to those that no split has chosen.
  if (isPaused(splitKeys({ call }), documents))
    return { kind: "later", reason: "paused", at: at + lookMs };
  return undefined;
}

/** A pause is known by its document's name alone, also where only a later version can read the rest. */
export function stops(
  { pauses }: Pick<ResolvedRoute, "pauses">,
  { documents }: Pick<ReadFacts, "documents">,
): boolean {
  return pauses.some(({ kind, key }) => documents.find(kind, key) !== undefined);
}

export function holders(
  { pauses }: ResolvedRoute,
  { documents }: Pick<ReadFacts, "documents">,
): Holder[] {
  return pauses.flatMap(({ kind, key }) => {
    const pause = documents.get(kind, key)?.value;
    if (pause === undefined) return [];
    const [name = ""] = Object.entries(pause.of).map((words) => words.join(" "));
    return { reason: "paused", name, until: pause.until ?? null };
  });
}

export const texts: Texts = {
  paused: {
    means: "The agent, account or client is paused: by an operator; an agent also for its results.",
    holds: (name) => `Paused: ${name}.`,
    endedBy: "person",
    stops: true,
  },
};
