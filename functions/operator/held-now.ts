import { type CallRow, toCall, waitingLaneOf } from "#shared/calls/call-row.ts";
import { requestIdOf } from "#shared/calls/ids.ts";
import type { RouteDeps } from "../api/http/context.ts";
import { causeForLog } from "../api/http/port-limits.ts";
import { type CallNow, readWaitingNow, type WaitingNow } from "./forecast/waiting-now.ts";

/** Returns a call that waits, with what holds it by its own row; undefined if it does not wait. */
export function toCallNow(row: CallRow, waiting: WaitingNow): CallNow | undefined {
  const { id, reason, dueAt } = row;
  const call = row.state === "WAITING" ? toCall(row) : undefined;
  if (call === undefined) return undefined;
  const known = waiting.calls.find((one) => one.id === id);
  if (known?.heldBy.isExact === true) return known;
  const backlog = known?.backlog ?? waitingLaneOf(row);
  const own = waiting.holderOf({ call, backlog, dueAt: dueAt ?? 0, reason, hasNumber: true });
  const end = known ?? { endsAt: null, isDialed: false, delays: [], unmeasured: undefined };
  const of = { client: call.client, agentId: row.agentId, requestId: requestIdOf(id) };
  return { ...end, ...of, ...own, id, backlog };
}

/** Returns what holds each of some rows that waits, by its id, as `why` says it. Empty if that cannot be read now. */
export async function findHeldNow(
  rows: readonly CallRow[],
  deps: RouteDeps,
): Promise<Map<string, CallNow["heldBy"]>> {
  if (!rows.some(({ state }) => state === "WAITING")) return new Map();
  try {
    const waiting = await readWaitingNow(deps);
    return new Map(
      rows.flatMap((row) => {
        const now = toCallNow(row, waiting);
        return now === undefined ? [] : [[row.id, now.heldBy] as const];
      }),
    );
  } catch (error) {
    deps.log("warning", "calls.holders_not_read", { error: causeForLog(error) });
    return new Map();
  }
}
