import { toCall, type CallRow } from "#shared/calls/call-row.ts";
import { watchLane } from "#shared/calls/lane.ts";
import { accountNameOf } from "#shared/calls/call-request.ts";
import type { DuePosition } from "#shared/ports/ledger.ts";
import type { DecisionDeps, DialerDeps } from "../runtime/context.ts";
import { decide, isLeftUnread, toDecisionFacts } from "../decide/decide-delivered.ts";
import { readControlDocuments } from "../decide/control-documents.ts";
import { sendDispatches } from "../dispatch/send-dispatches.ts";
import type { SweepTime } from "./sweep-time.ts";

const pageRows = 500;
/** Maximum dispatched calls of unknown outcome of one account. */
const lookUpsMax = 500;

/** Progress of a sweep in reading the unknown outcomes. */
interface Reached {
  /** True if it has read all of them. */
  isWhole: boolean;
  /** Position after which the next sweep continues. Null: at the beginning. */
  after: DuePosition | null;
}

/**
 * Dispatches due calls of unknown outcome: to be looked up, resent or reviewed.
 *
 * @param from position at which the last sweep stopped
 */
export async function dispatchUnknown(
  from: DuePosition | undefined,
  time: SweepTime,
  deps: DecisionDeps & Pick<DialerDeps, "queue" | "ledger">,
): Promise<Reached> {
  const { ledger, clock, log } = deps;
  /** Rows sent so far, by account. */
  const sent = new Map<string, number>();
  let after = from;
  while (!time.isOver()) {
    const until = clock.now();
    const [page = []] = await ledger.due({
      lanes: [{ key: watchLane, after }],
      until,
      each: pageRows,
    });
    const { rows, unreadable } = await ledger.read(page.map(({ id }) => id));
    for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
    const mayGo = await decideUnknown(rows, deps);
    await sendDispatches(
      page.flatMap(({ id }) => dispatchOf(mayGo.get(id), sent)),
      0,
      deps,
    );
    after = page.at(-1) ?? after;
    if (page.length < pageRows) return { isWhole: true, after: null };
  }
  return { isWhole: false, after: after ?? null };
}

/** Returns the rows of unknown outcome that have an action now, so that rows that must wait use no slots. */
async function decideUnknown(
  rows: readonly CallRow[],
  deps: DecisionDeps,
): Promise<Map<string, CallRow>> {
  if (rows.length === 0) return new Map();
  const calls = rows.flatMap((row) => toCall(row) ?? []);
  const known = toDecisionFacts(await readControlDocuments(calls, { numbers: false }, deps), deps);
  const mayGo = rows.filter((row) => {
    const decision = decide(undefined, row, known);
    return !isLeftUnread(decision, row, deps) && decision.kind !== "leave";
  });
  return new Map(mayGo.map((row) => [row.id, row]));
}

/** Returns the dispatch of a row of unknown outcome, unless its account has the maximum. */
function dispatchOf(row: CallRow | undefined, sent: Map<string, number>) {
  if (row?.state !== "UNKNOWN" || row.route === null) return [];
  const account = accountNameOf(row.route);
  const count = sent.get(account) ?? 0;
  if (count >= lookUpsMax) return [];
  sent.set(account, count + 1);
  return [{ id: row.id, account, isSlow: false }];
}
