import { freshAgeMsMax } from "../lib/timing.ts";
import type {
  BacklogNow,
  ClockFacts,
  Facts,
  ReadFacts,
  KeyedAccount,
  Verdict,
  Texts,
} from "./rule.ts";
import type { ResolvedCall } from "./resolved-call.ts";
import type { DocumentKey } from "../ports/document-kinds.ts";

/** Maximum calls in flight of a backlog without any answer. */
const unreachableMax = 5;

export const held = { kind: "hold", reason: "turn" } as const;

export function keys({ target }: KeyedAccount): DocumentKey[] {
  return target === undefined ? [] : [{ kind: "account", key: target.account.name }];
}

/** A fresh call goes at once only if its account answers quickly and is not busy, so that it overtakes no other call. */
export function admit(
  { call, row, target }: ResolvedCall,
  { documents, now }: ReadFacts,
): Verdict | undefined {
  if (row !== undefined || target === undefined) return undefined;
  const known = documents.get("account", target.account.name)?.value;
  const { quick = false, busy = false } = known ?? {};
  return !quick || busy || now - call.acceptedAt > freshAgeMsMax ? held : undefined;
}

/** Few calls of a backlog go while none has been answered. */
export function backlogRoom({
  answers,
  inFlight,
}: Pick<BacklogNow, "answers" | "inFlight">): number | undefined {
  return answers === null ? unreachableMax - inFlight : undefined;
}

/** One delivery dials at most as many fresh calls of an account as it may send requests at once. */
export function inDelivery(
  { row, target }: ResolvedCall,
  { ahead, requestsAtOnce }: Pick<Facts, "ahead" | "requestsAtOnce">,
): Verdict | undefined {
  if (row !== undefined || target === undefined) return undefined;
  const { name, concurrency = requestsAtOnce } = target.account;
  return (ahead.get(name) ?? 0) >= Math.min(concurrency, requestsAtOnce) ? held : undefined;
}

/** The delivery sends no more calls of the backlog, as requests stay unanswered or are refused. */
export function stay(
  { backlog }: ResolvedCall,
  { stopped }: Pick<ClockFacts, "stopped">,
): Verdict | undefined {
  return stopped.has(backlog) ? held : undefined;
}

export const texts: Texts = {
  in_flight: {
    holds: (name) => `Account ${name} has as many in flight as it has taken at once so far.`,
    isTurn: true,
    isOfAccount: true,
  },
  not_measured: {
    holds: (name) => `Account ${name} answers slowly, and its speed is not known yet.`,
    endedBy: "provider",
  },
  slow: {
    holds: (name) => `Account ${name} answers slowly: few go at once.`,
    endedBy: "provider",
    isTurn: true,
    isOfAccount: true,
  },
  turn: {
    means: "The call waits for its turn among the calls of its account.",
    holds: (name) => `Waiting for their turn at account ${name}.`,
    isTurn: true,
    isOfAccount: true,
  },
};
