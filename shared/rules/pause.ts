import type { ReadFacts, Holder, KeyedBacklog, Verdict, Texts } from "./rule.ts";
import { pauseKeysOf, type ResolvedCall, type ResolvedRoute } from "./resolved-call.ts";
import type { DocumentKey, DocumentsRead } from "../ports/document-kinds.ts";

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

/** An operator has paused the call's agent, account or client, or its agent is paused for its results. */
export function admit(
  { target }: ResolvedCall,
  { documents }: Pick<ReadFacts, "documents">,
): Verdict | undefined {
  if (target === undefined || !isPaused(target.pauses, documents)) return undefined;
  return { kind: "hold", reason: "paused" };
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
