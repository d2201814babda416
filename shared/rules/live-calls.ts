import type { ClaimedCall, Taking, Verdict } from "./rule.ts";

/** The live calls of the accounts of one delivery's calls. */
export interface Lines {
  /** Adds a claimed call. Resolves to false if the account has as many live calls as it may have. */
  enter(claim: ClaimedCall): Promise<boolean>;
  /** Removes the entry of this claim. Never throws. */
  leave(claim: ClaimedCall): Promise<void>;
}

const held: Verdict = { kind: "hold", reason: "live_calls" };

/**
 * Takes a line of the account. It is always given back: an entry that stays would count for hours, and one that is not
 * there is not missed.
 */
export function take(claim: ClaimedCall, { lines }: { lines: Lines }): Taking {
  let isFull = false;
  const settled = lines.enter(claim).then((isLive) => {
    isFull = !isLive;
    return isLive;
  });
  return { settled, verdict: () => (isFull ? held : undefined), give: () => lines.leave(claim) };
}
