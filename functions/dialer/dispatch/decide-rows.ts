import type { Call } from "#shared/calls/call-request.ts";
import { toCall, type CallRow, type ClientAgent } from "#shared/calls/call-row.ts";
import { type ClientOfMode, requestIdOf } from "#shared/calls/ids.ts";
import type { DecisionDeps, DialerDeps, RowDeps } from "../runtime/context.ts";
import { decide, isLeftUnread, toDecisionFacts } from "../decide/decide-delivered.ts";
import { readControlDocuments } from "../decide/control-documents.ts";
import { halts } from "#shared/rules/gates.ts";
import { writeDecided } from "../record/write-decisions.ts";

/** Maximum rows that one tick decides, and maximum closed rows that it writes. */
export const decidedMax = 2_000;
export const writtenOffMax = 500;

/** A due row, with its backlog. */
export interface DueRow {
  id: string;
  of: ClientAgent & ClientOfMode;
}

/** Returns a call with the fields that id and backlog determine, which are enough to find its documents. */
function asCall({ id, of }: DueRow): Call {
  const request = { phone_number: "", agent_id: of.agentId };
  const { client, mode } = of;
  return { id, requestId: requestIdOf(id), batchCalls: 1, client, mode, acceptedAt: 0, request };
}

/**
 * Decides due rows, without their context. `open` rows may be dialed now; `closed` rows must not, and are to be
 * written. A row is neither if it has changed meanwhile, or if it or its documents cannot be read.
 */
export async function decideRows(
  due: readonly DueRow[],
  deps: DecisionDeps & Pick<DialerDeps, "ledger">,
): Promise<{ open: Set<string>; closed: Set<string> }> {
  const { ledger, log } = deps;
  const decided = { open: new Set<string>(), closed: new Set<string>() };
  const some = due.slice(0, decidedMax);
  if (some.length === 0) return decided;
  // The documents are read at the same time, by the ids. The do-not-call list is left to the dialer.
  const [{ rows, unreadable }, read] = await Promise.all([
    ledger.readWithoutContext(some.map(({ id }) => id)),
    readControlDocuments(some.map(asCall), { numbers: false }, deps),
  ]);
  for (const id of unreadable) log("alarm", "row.unreadable", { call_id: id });
  if (halts.some((stop) => stop(read))) return decided;
  const known = toDecisionFacts(read, deps);
  for (const brief of rows) {
    const { id } = brief;
    const row: CallRow = { ...brief, version: "" };
    const call = row.state === "WAITING" ? toCall(row) : undefined;
    if (call === undefined) continue;
    const decision = decide(call, row, known);
    if (isLeftUnread(decision, row, deps)) continue;
    const isClosed = decision.kind === "write";
    (isClosed ? decided.closed : decided.open).add(id);
  }
  return decided;
}

/**
 * Decides WAITING rows and writes those that must not be dialed now: outside their hours, expired, cancelled, on the
 * do-not-call list.
 *
 * @param endsOnly true to decide rows that are not due, too, and to write only those that end
 */
export async function writeOff(
  ids: readonly string[],
  { endsOnly }: { endsOnly: boolean },
  deps: RowDeps & DecisionDeps & Pick<DialerDeps, "rowsPerSecond" | "wakeDispatcher">,
): Promise<void> {
  if (ids.length === 0) return;
  const now = deps.clock.now();
  const { rows } = await deps.ledger.read(ids);
  const calls = rows.flatMap((row) => {
    const call = row.state === "WAITING" ? toCall(row) : undefined;
    return call === undefined ? [] : [{ call, row: endsOnly ? { ...row, dueAt: now } : row }];
  });
  const read = await readControlDocuments(
    calls.map(({ call }) => call),
    { numbers: true },
    deps,
  );
  const known = toDecisionFacts(read, deps);
  await writeDecided(
    calls.flatMap(({ call, row }) => {
      const decision = decide(call, row, known);
      if (isLeftUnread(decision, row, deps) || decision.kind !== "write") return [];
      const { decided } = decision;
      return endsOnly && decided.state === "WAITING" ? [] : [{ call, row, decided }];
    }),
    deps,
  );
}
