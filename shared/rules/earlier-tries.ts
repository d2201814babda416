import type { CallRow } from "../calls/call-row.ts";
import { isFollowed, isSuperseded } from "../calls/ended.ts";
import { states } from "../calls/states.ts";
import type { Log } from "../lib/log.ts";
import type { CallLedger } from "../ports/ledger.ts";
import type { ClaimedCall, Taking, Verdict, Texts } from "./rule.ts";

/** A call that this redial or try replaces has been placed since, or may have been. Purged calls are ignored. */
export function take({ row }: ClaimedCall, deps: { ledger: CallLedger; log: Log }): Taking {
  let verdict: Verdict | undefined;
  const settled = judge(row, deps).then((found) => {
    verdict = found;
    return found;
  });
  return { settled, verdict: () => verdict, give: async () => undefined };
}

async function judge(
  { id, ancestors, tries }: CallRow,
  { ledger, log }: { ledger: CallLedger; log: Log },
): Promise<Verdict | undefined> {
  if (ancestors.length === 0) return undefined;
  const { rows, unreadable } = await ledger.read(ancestors);
  // A try follows a call only if the call has ended in a way for which its agent's `retry` makes another. The last call
  // before a call-back has promised it, whatever the ends of earlier ones were.
  const promisedBy = tries?.promisedAt === undefined ? undefined : ancestors.at(-1);
  const isPast = (row: CallRow) =>
    promisedBy === undefined || row.id === promisedBy ? isSuperseded(row) : isFollowed(row);
  const inTheWay = rows.filter((row) => !isPast(row));
  const ancestorFacts = inTheWay.map(({ state }) => states[state]);
  if (ancestorFacts.some(({ placed }) => placed === "yes")) {
    log("alarm", "call.placed_before", { call_id: id });
    return { kind: "end", state: "CANCELLED", reason: "placed_before" };
  }
  const isUnderWay = ancestorFacts.some(({ open, placed }) => open && placed !== "no");
  if (unreadable.size > 0 || isUnderWay) {
    return { kind: "end", state: "NEEDS_REVIEW", reason: "ancestor_unknown" };
  }
  return undefined;
}

export const texts: Texts = {
  ancestor_unknown: {
    means: "A call that this one is to replace may have been placed: a person decides.",
  },
  placed_before: {
    means: "The call that this one was to replace has been placed after all.",
  },
};
