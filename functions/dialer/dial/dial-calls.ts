import { unreadable, UnreadableError } from "#shared/ports/unreadable.ts";
import { createDialBatch, type DialBatch, type Result } from "./dial-batch.ts";
import { askChecks } from "./ask-checks.ts";
import type { Call } from "#shared/calls/call-request.ts";
import { toCall, type CallRow } from "#shared/calls/call-row.ts";
import { requireReview } from "#shared/calls/transitions.ts";

import type { ControlDocuments } from "#shared/policy/ledger-epoch.ts";
import { enteredStep } from "#shared/policy/usage.ts";
import type { UsageStep } from "#shared/policy/usage-ends.ts";
import { errorForLog } from "#shared/lib/log.ts";
import {
  behindOthers,
  decide,
  type Decision,
  type Dial,
  isLeftUnread,
  type LookUp,
  toDecisionFacts,
} from "../decide/decide-delivered.ts";
import {
  type Asked,
  beginRead,
  readControlDocuments,
  createFreshDocuments,
} from "../decide/control-documents.ts";
import { mergeControlDocuments } from "../runtime/epoch.ts";
import { toDecided } from "#shared/rules/rule.ts";
import { dialCall } from "./dial-call.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { lookUpCalls } from "../look-up/look-up-calls.ts";
import { changeRows } from "../record/change-rows.ts";
import { findNextPollAt } from "../record/due-times.ts";
import { renewEntries } from "../record/renew-entries.ts";
import { countSteps, type ToWrite, writeDecided } from "../record/write-decisions.ts";
import { dayMs } from "#shared/lib/units.ts";

/** A call to handle. Its message contains it, or only its id. */
export interface RequestedCall {
  id: string;
  call?: Call | undefined;
  /** The account in which the dispatcher found room for the call. */
  account?: string | undefined;
}

/** The calls of one delivery, the documents read and the decisions. */
interface DecidedCalls {
  calls: Call[];
  read: ControlDocuments;
  asked: Asked;
  unreadable: ReadonlySet<string>;
  writes: ToWrite[];
  reviews: CallRow[];
  dials: Dial[];
  lookUps: LookUp[];
}

/**
 * Decides on every call of a delivery and dials those that are due: claim, one request, settle. Every outcome
 * is written before its message is acknowledged.
 *
 * @param requested calls to handle, without duplicates
 * @param deadline end of the invocation, in milliseconds since the epoch
 * @returns the ids whose messages must be retried
 * @throws if the ledger cannot be read; then nothing was dialed
 */
export async function dialCalls(
  requested: readonly RequestedCall[],
  deps: DialerDeps,
  deadline: number,
): Promise<Set<string>> {
  if (requested.length === 0) return new Set();
  const plan = await readAndDecide(requested, deps).catch(() => readAndDecide(requested, deps));
  const retry = new Set(plan.unreadable);
  const failed = (ids: readonly string[]) => (error: unknown) => {
    deps.log("alarm", "ledger.unreachable", { count: ids.length, error: errorForLog(error) });
    for (const id of ids) retry.add(id);
  };
  const idsOf = (writes: readonly ToWrite[]) => writes.map(({ call }) => call.id);
  const [results] = await Promise.all([
    dialAll(plan, deps, deadline),
    writeDecided(plan.writes, deps).catch(failed(idsOf(plan.writes))),
    renewEntries(plan.writes, plan.read, deps),
    review(plan.reviews, deps).catch(failed(plan.reviews.map(({ id }) => id))),
    plan.lookUps.length > 0 ? lookUpCalls(plan.lookUps, deps, deadline) : undefined,
  ]);
  for (const { dial, result } of results) if (result.kind === "retry") retry.add(dial.call.id);
  // A row that keeps its place stays unchanged. The dispatcher sees that it still waits.
  const late = results.flatMap(({ dial, result }) => {
    if (result.kind !== "not_dialed") return [];
    const { call, row, dialAt } = dial;
    const { verdict } = result;
    const isKept = row !== undefined && verdict.kind === "hold";
    // An UNKNOWN row stays unchanged and due, so a sweep sends it again.
    if (isKept || row?.state === "UNKNOWN") return [];
    const { firstDueAt = dialAt } = verdict.kind === "hold" ? verdict : {};
    return [{ call, row, decided: toDecided(verdict, firstDueAt) }];
  });
  await writeDecided(late, deps).catch(failed(idsOf(late)));
  await countSteps(
    results.flatMap((one) => stepsOf(one, deps)),
    deps,
  );
  return retry;
}

/** Returns what a dialed call adds to the usage of the hour. */
function stepsOf(
  { dial, result }: { dial: Dial; result: Result },
  deps: Pick<DialerDeps, "clock" | "settings">,
): UsageStep[] {
  if (result.kind !== "done" || result.state === undefined) return [];
  const { call, row, target } = dial;
  const { route } = target;
  const now = deps.clock.now();
  const isPolled = findNextPollAt({ route, claimedAt: now }, now, deps) !== undefined;
  const of = { ...call, agentId: call.request.agent_id, before: row?.history ?? [] };
  return [enteredStep({ ...of, state: result.state, isPolled }, now)];
}

async function readAndDecide(
  requested: readonly RequestedCall[],
  deps: DecisionDeps & Pick<DialerDeps, "ledger">,
): Promise<DecidedCalls> {
  const { ledger, clock, log } = deps;
  const asked = beginRead(deps);
  const brought = requested.flatMap(({ call }) => call ?? []);
  const [rows, first] = await Promise.all([
    ledger.read(requested.map(({ id }) => id)),
    readControlDocuments(brought, { numbers: true }, deps),
  ]);
  for (const id of rows.unreadable) log("alarm", "row.unreadable", { call_id: id });
  // Rows have the agents and numbers of calls of which the message has only the id, and the agents that splits have chosen.
  const named = requested.flatMap(({ id, call }) => {
    const found = rows.get(id);
    if (found === undefined || found === unreadable) return [];
    return found.agentId === call?.request.agent_id ? [] : (toCall(found) ?? []);
  });
  const read =
    named.length === 0
      ? first
      : mergeControlDocuments(first, await readControlDocuments(named, { numbers: true }, deps));
  const plan: DecidedCalls = {
    calls: [...brought, ...named],
    read,
    asked,
    unreadable: rows.unreadable,
    writes: [],
    reviews: [],
    dials: [],
    lookUps: [],
  };
  // Counts calls per account, as claiming calls that cannot go within 5 s by the pace would be useless.
  const ahead = new Map<string, number>();
  const known = { ...toDecisionFacts(read, deps), ahead };
  const oldest = oldestAccepted(clock.now(), deps);
  for (const { id, call: delivered, account: dispatchedFor } of requested) {
    const row = rows.get(id);
    if (row === unreadable) continue;
    const call = row === undefined ? delivered : toCall(row);
    if (call === undefined) continue;
    if (row === undefined && call.acceptedAt < oldest) {
      // The row may have been purged, so the message may be a duplicate.
      log("alarm", "call.too_old", { call_id: id, request_id: call.requestId });
      continue;
    }
    const decision = decide(delivered, row, known);
    if (decision.kind === "dial") {
      const account = decision.target.account.name;
      // The dispatcher has another plan, in which another account has the call. It had room there, not here.
      if (dispatchedFor !== undefined && account !== dispatchedFor) continue;
      ahead.set(account, (ahead.get(account) ?? 0) + 1);
      plan.dials.push(decision);
    } else addUndialed(plan, { call, row, decision }, deps);
  }
  return plan;
}

/** Adds a call that is not dialed now. */
function addUndialed(
  plan: DecidedCalls,
  { call, row, decision }: { call: Call; row: CallRow | undefined; decision: Decision },
  deps: Pick<DialerDeps, "clock" | "memory" | "log">,
): void {
  if (decision.kind === "write") plan.writes.push({ call, row, decided: decision.decided });
  else if (decision.kind === "review") plan.reviews.push(decision.row);
  else if (decision.kind === "look_up") plan.lookUps.push(decision);
  else if (row?.state === "WAITING" && isLeftUnread(decision, row, deps)) {
    // The dispatcher, which does not read the documents of numbers, would send it first again.
    const now = deps.clock.now();
    const verdict = behindOthers(now);
    plan.writes.push({ call, row, decided: toDecided(verdict, now) });
  }
}

/** Acceptance time before which a call's row may have been purged, in milliseconds since the epoch. */
export function oldestAccepted(now: number, { settings }: Pick<DialerDeps, "settings">): number {
  return now - (settings.plan.retentionDays - 1) * dayMs;
}

async function dialAll(
  { calls, read, asked, dials }: DecidedCalls,
  deps: DialerDeps,
  deadline: number,
): Promise<{ dial: Dial; result: Result }[]> {
  if (dials.length === 0) return [];
  const documents = createFreshDocuments(calls, { read, asked }, deps);
  const { batch, end } = createDialBatch(dials, { documents, deadline }, deps);
  return Promise.all(
    dials.map(async (dial) => {
      // One call's error must not retry the other calls, whose requests may be under way.
      const result = await dialChecked(dial, batch).catch((error: unknown): Result => {
        deps.log("alarm", "dialer.failed", { call_id: dial.call.id, error: errorForLog(error) });
        if (!(error instanceof UnreadableError)) return { kind: "retry" };
        // Its message would come again and again, beside those of later dispatches.
        return { kind: "not_dialed", verdict: behindOthers(deps.clock.now()) };
      });
      end(dial);
      return { dial, result };
    }),
  );
}

/** Dials a call that the checks of its agent permit. */
async function dialChecked(dial: Dial, batch: DialBatch): Promise<Result> {
  const permitted = await askChecks(dial, batch);
  if (permitted.kind === "dial") return dialCall(permitted, batch);
  return { kind: "not_dialed", verdict: permitted };
}

/** Moves rows whose outcome stayed unknown to NEEDS_REVIEW. */
async function review(rows: readonly CallRow[], deps: RowDeps): Promise<void> {
  const { reviewAfterSeconds } = deps.settings.plan;
  await changeRows(rows, (row, write) => requireReview(row, reviewAfterSeconds, write), deps);
}
