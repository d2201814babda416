import DataLoader from "dataloader";
import type { Call } from "../../../shared/calls/call.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import { accountOf, routeOf } from "../../../shared/dial-plan/routes.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import type { Pace } from "../../../shared/schedule/pacing.ts";
import { callUpNext, type Written } from "./call-up-next.ts";
import { sendInOrder } from "./call-up-rows.ts";
import type { DialerDeps } from "../context.ts";
import { type CalledUp, hintLeadMs } from "./hints.ts";

/** Maximum time until a row is due for its writer to call it up. Later rows are called up by a sweep. */
const soonMs = 120_000;
/** Wait of a call that found no place or no permit: its account may have answered by then. */
const comeBackMs = { paced: 5_000, unpaced: 15_000 } as const;

/** A row that now waits, or whose outcome is unknown and that is looked up or resent when it is due. */
export interface WaitingRow {
  call: Call;
  state: "WAITING" | "UNKNOWN";
  reason: string;
  dueAt: number;
  /** Latest possible time of the write, in milliseconds since the epoch. */
  writtenAt: number;
  /** True if the row had been called up and was sent back: it needs no new place among called-up rows. */
  cameBack: boolean;
}

/** Reasons of rows that would wait on if called up. They are called up once the reason has ended. */
const heldBack = new Set(["paused", "breaker_open", "route_gone", "restored"]);
/** Reasons of called-up rows for which the account, or this process, had no room. */
const noRoom = new Set(["no_capacity", "pace", "permit_void", "claim_too_old", "not_checked"]);

/** Returns true if this reason means that a called-up row was sent back. */
export function hasComeBack(reason: string): boolean {
  return noRoom.has(reason);
}

/**
 * Calls up rows that are due soon, so that they need not wait for a sweep: by a hint at their due time, or in
 * turn for an account with a pace. Never throws: if hints are lost, sweeps find the rows.
 */
export async function callUpSoon(rows: readonly WaitingRow[], deps: DialerDeps): Promise<void> {
  const { clock, settings, log } = deps;
  const now = clock.now();
  const hints: CalledUp[] = [];
  const inTurn = new Map<string, { route: Route; pace: Pace; rows: Written[] }>();
  for (const { call, state, reason, dueAt, writtenAt, cameBack } of rows) {
    const route = routeOf(call.request.agent_id, settings.plan);
    if (route === undefined || dueAt > now + soonMs || heldBack.has(reason)) continue;
    const { pace } = accountOf(route, settings.plan);
    // A look-up is hinted for the due time itself, not ahead of it: an outcome is judged by that time.
    if (state === "UNKNOWN") hints.push({ id: call.id, moment: dueAt + hintLeadMs });
    else if (pace === undefined || cameBack) {
      const laterMs = comeBackMs[pace === undefined ? "unpaced" : "paced"];
      const moment = noRoom.has(reason) ? Math.max(dueAt, now + laterMs) : dueAt;
      hints.push({ id: call.id, moment });
    } else {
      const account = accountNameOf(route);
      const own = inTurn.get(account) ?? { route, pace, rows: [] };
      inTurn.set(account, own);
      const backlog = backlogOf({ client: call.client, agentId: call.request.agent_id });
      own.rows.push({ id: call.id, dueAt, backlog, writtenAt });
    }
  }
  const lost = (count: number) => (error: unknown) =>
    log("warning", "hints.lost", { count, error: errorForLog(error) });
  await sendInOrder(hints, deps).catch(lost(hints.length));
  for (const { route, pace, rows: own } of inTurn.values()) {
    await callUpNext(route, pace, own, deps).catch(lost(own.length));
  }
}

/** Time that a row left waiting waits for others, to be called up together. */
const gatherMs = 200;

/** Calls up together the rows of one delivery that are left waiting at about the same time. */
export function gatherWaiting(deps: DialerDeps): (row: WaitingRow) => Promise<void> {
  const loader = new DataLoader<WaitingRow, undefined>(
    async (rows) => {
      await callUpSoon(rows, deps);
      return rows.map(() => undefined);
    },
    { cache: false, batchScheduleFn: (send) => void deps.clock.sleep(gatherMs).then(send) },
  );
  return (row) => loader.load(row);
}
