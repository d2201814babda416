import DataLoader from "dataloader";
import type { Call } from "../../../shared/calls/call.ts";
import { backlogOf } from "../../../shared/calls/call-row.ts";
import { accountOf, routeOf } from "../../../shared/dial-plan/dial-plan.ts";
import { errorForLog } from "../../../shared/platform/log.ts";
import { accountNameOf, type Route } from "../../../shared/providers/index.ts";
import type { Pace } from "../../../shared/schedule/pacing.ts";
import { callUpNext, type Written } from "./call-up-next.ts";
import type { ReadyDeps } from "../dialer.ts";
import { type CalledUp, hintLeadMs, sendHints } from "./hints.ts";

/** Whoever writes a row that is due so soon calls it up; later ones are called up by a sweep. */
const soonMs = 120_000;
/** A call that found no place or no permit is looked at again after a while, when its account may have answered. */
const comeBackMs = { paced: 5_000, unpaced: 15_000 } as const;

/** A row that now waits, or whose outcome is unknown: it is looked up, or sent again, when it is due. */
export interface WaitingRow {
  call: Call;
  state: "WAITING" | "UNKNOWN";
  reason: string;
  dueAt: number;
  /** When it surely was written. */
  writtenAt: number;
  /** It had been called up and was sent back, so it needs no new place among those that are called up. */
  cameBack: boolean;
}

/** Reasons of rows that nothing is gained by calling up: they are once the reason has ended. */
const heldBack = new Set(["paused", "breaker_open", "route_gone"]);
/** Reasons of rows whose turn it was: the account, or this process, had no room for them. */
const noRoom = new Set(["no_capacity", "pace", "permit_void", "claim_too_old", "not_checked"]);

/** Whether a called-up row that waits for this reason has come back. */
export function hasComeBack(reason: string): boolean {
  return noRoom.has(reason);
}

/**
 * Calls up rows that are due soon, so that nobody waits for a sweep to notice them: by a hint at their time, and those
 * of an account with a pace in their turn. Never throws: where hints are lost, sweeps find the rows.
 */
export async function callUpSoon(rows: readonly WaitingRow[], deps: ReadyDeps): Promise<void> {
  const { clock, settings, log } = deps;
  const now = clock.now();
  const hints: CalledUp[] = [];
  const inTurn = new Map<string, { route: Route; pace: Pace; rows: Written[] }>();
  for (const { call, state, reason, dueAt, writtenAt, cameBack } of rows) {
    const route = routeOf(call.request.agent_id, settings.plan);
    if (route === undefined || dueAt > now + soonMs || heldBack.has(reason)) continue;
    const { pace } = accountOf(route, settings.plan);
    // Looked after no sooner than it is due: whether it is over is told by then.
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
  await hintSafely(hints, deps);
  for (const { route, pace, rows: own } of inTurn.values()) {
    await callUpNext(route, pace, own, deps).catch(lost(own.length));
  }
}

/** How long a row that was left waiting waits for others, to be called up together with them. */
const gatherMs = 200;

/** Calls up rows of one delivery that are left waiting at about the same moment, together. */
export function gatherWaiting(deps: ReadyDeps): (row: WaitingRow) => Promise<void> {
  const loader = new DataLoader<WaitingRow, undefined>(
    async (rows) => {
      await callUpSoon(rows, deps);
      return rows.map(() => undefined);
    },
    { cache: false, batchScheduleFn: (send) => void deps.clock.sleep(gatherMs).then(send) },
  );
  return (row) => loader.load(row);
}

/** Sends hints; where the queue does not take them, a sweep finds the rows. */
export async function hintSafely(rows: readonly CalledUp[], deps: ReadyDeps): Promise<void> {
  if (rows.length === 0) return;
  const ordered = rows.toSorted((a, b) => a.moment - b.moment);
  await sendHints(ordered, deps).catch((error: unknown) => {
    deps.log("warning", "hints.lost", { count: rows.length, error: errorForLog(error) });
  });
}
