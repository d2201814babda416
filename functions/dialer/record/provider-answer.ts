import type { Call } from "#shared/calls/call-request.ts";
import type { CallRow, ClientAgent } from "#shared/calls/call-row.ts";
import type { Settlement } from "#shared/calls/transitions.ts";
import { errorForLog } from "#shared/lib/log.ts";
import { minuteMs } from "#shared/lib/units.ts";
import { failureKeysOf } from "#shared/policy/breakers.ts";
import type { DocumentKey, DocumentsRead } from "#shared/ports/document-kinds.ts";
import { type DialOutcome, retryAfterMsMax } from "#shared/providers/provider.ts";
import type { ResolvedRoute } from "#shared/rules/resolved-call.ts";
import { countryOf } from "#shared/telephony/phone-number.ts";
import { recordOutcome } from "../breakers/record-outcome.ts";
import { isRefusedProbe } from "../breakers/refused-probe.ts";
import type { DialerDeps, RowDeps } from "../runtime/context.ts";
import { findNextPollAt, unknownDueAt } from "./due-times.ts";

/** A provider's answer to the request of a claimed call. */
interface ProviderAnswer {
  outcome: DialOutcome;
  row: CallRow;
  call: Call;
  target: ResolvedRoute;
  /** Time of the request, in milliseconds since the epoch. */
  sentAt: number;
  /** The documents as read before the request. Absent: the answer comes from a record of the provider. */
  read?: DocumentsRead;
}

/** Names the documents by which no rule asks, but which are needed once the provider has answered. */
export function listAnswerKeys(
  of: ClientAgent,
  { breakers }: Pick<ResolvedRoute, "breakers">,
): DocumentKey[] {
  return failureKeysOf(of, breakers);
}

/** Returns the settlement of a claim by its answer. */
export function toSettlement(
  { outcome, row, read }: ProviderAnswer,
  { claim, expiresAt }: { claim: string; expiresAt: number },
  deps: Pick<DialerDeps, "clock" | "random" | "settings">,
): Settlement {
  const now = deps.clock.now();
  const fraction = deps.random.fraction();
  const base = { id: row.id, claim, at: now };
  const waiting = (reason: string, dueAt: number): Settlement => ({
    ...base,
    state: "WAITING",
    reason,
    dueAt: Math.min(Math.round(dueAt), expiresAt),
  });
  if (outcome.kind === "placed") {
    const { providerCallId } = outcome;
    const pollAt = findNextPollAt(row, now, deps);
    const known = {
      ...(providerCallId === undefined ? {} : { providerCallId }),
      ...(pollAt === undefined ? {} : { pollAt }),
    };
    return { ...base, state: "PLACED", reason: "placed", ...known };
  }
  if (outcome.kind === "unknown" || row.resent) {
    return {
      ...base,
      state: "UNKNOWN",
      reason: outcome.code,
      dueAt: unknownDueAt(row, { now, fraction }, deps),
    };
  }
  switch (outcome.kind) {
    case "rejected":
    case "forbidden": {
      // A refused probe says nothing of its call, which goes behind the others.
      if (read !== undefined && isRefusedProbe(outcome, row, read))
        return waiting(outcome.code, now);
      const state = outcome.kind === "rejected" ? "REJECTED" : "NEEDS_REVIEW";
      return { ...base, state, reason: outcome.code };
    }
    // A row that waits again after an answer goes behind due rows, so that it blocks none.
    case "account_refused":
    case "route_refused":
      return waiting(outcome.code, now);
    case "not_placed": {
      const { blamesNumber, retryAfterSeconds = 0 } = outcome;
      // Otherwise the backlog's breaker waits for as long as the provider asks.
      const askedMs =
        blamesNumber === true ? Math.min(retryAfterSeconds * 1000, retryAfterMsMax) : 0;
      const waitMs = Math.max(askedMs, comeBackMs(row.attempt)) + fraction * 1000;
      return waiting(outcome.code, now + waitMs);
    }
  }
}

/** Wait of a row whose call certainly was not placed: 1, 2, 4 … 60 s; in milliseconds. */
function comeBackMs(attempt: number): number {
  return Math.min(1000 * 2 ** (Math.max(1, attempt) - 1), minuteMs);
}

/** Applies a settled answer to the breakers. Never throws: only counts of the answer are lost. */
export async function applyAnswer(answer: ProviderAnswer, deps: RowDeps): Promise<void> {
  const { outcome, row, call, target, sentAt } = answer;
  // The answer to a resend may concern the first request, so only a success counts.
  if (row.resent && outcome.kind !== "placed") return;
  try {
    const { client, agentId, numberHash } = row;
    const { route, account } = target;
    const country = countryOf(call.request.phone_number);
    const breakers = target.breakers.map((key) => ({ kind: "breaker", key }) as const);
    const keys = [...breakers, ...listAnswerKeys(row, target)];
    const read = answer.read ?? (await deps.documents.read(keys));
    const judged = { client, agentId, numberHash, country, route, account: account.name, sentAt };
    await recordOutcome(outcome, { call: judged, read }, deps);
  } catch (error) {
    deps.log("warning", "breaker.update_failed", { call_id: row.id, error: errorForLog(error) });
  }
}
