import { backlogOf, type ClientAgent } from "#shared/calls/call-row.ts";
import type { ResolvedRoute } from "#shared/rules/resolved-call.ts";
import type { DocumentsRead } from "#shared/ports/document-kinds.ts";
import { holders } from "#shared/rules/gates.ts";
import type { Holder } from "#shared/rules/rule.ts";

/** Returns what holds the calls of an agent along a route; undefined if nothing does. */
export type HolderOf = (of: ClientAgent, target: ResolvedRoute) => Holder | undefined;

/** Returns a function that finds what holds calls, and remembers its answers. */
export function createHolders(documents: DocumentsRead, now: number): HolderOf {
  const known = new Map<string, Holder | undefined>();
  return (of, target) => {
    const key = backlogOf(of);
    if (!known.has(key)) {
      const all = holders.flatMap((list) => list(target, { documents, now }));
      known.set(key, longestOf(all.filter(({ until }) => until === null || until > now)));
    }
    return known.get(key);
  };
}

/** Returns the holder that lasts longest. */
function longestOf(all: readonly Holder[]): Holder | undefined {
  const endOf = ({ until }: Holder) => until ?? Infinity;
  return all.reduce<Holder | undefined>(
    (longest, one) => (longest !== undefined && endOf(longest) >= endOf(one) ? longest : one),
    undefined,
  );
}
