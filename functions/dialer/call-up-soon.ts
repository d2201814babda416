import type { Call } from "../../shared/calls/call.ts";
import { backlogOf } from "../../shared/calls/call-row.ts";
import { accountOf, routeOf } from "../../shared/dial-plan.ts";
import { errorForLog } from "../../shared/log.ts";
import { accountNameOf } from "../../shared/providers/index.ts";
import type { Pace } from "../../shared/schedule/pacing.ts";
import { callUpFirst, type Written } from "./call-up-first.ts";
import type { ReadyDeps } from "./dialer.ts";
import { type CalledUp, sendHints } from "./hints.ts";

/** Whoever writes a row that is due so soon calls it up; later ones are called up by a sweep. */
const soonMs = 120_000;
/** A call that found no place or no permit is looked at again after a while, when its account may have answered. */
const comeBackMs = { paced: 5_000, unpaced: 15_000 } as const;

/** A row that now waits. */
export interface WaitingRow {
  call: Call;
  reason: string;
  dueAt: number;
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
  const inTurn = new Map<string, { pace: Pace; rows: Written[] }>();
  for (const { call, reason, dueAt, cameBack } of rows) {
    const route = routeOf(call.request.agent_id, settings.plan);
    if (route === undefined || dueAt > now + soonMs || heldBack.has(reason)) continue;
    const { pace } = accountOf(route, settings.plan);
    if (pace === undefined || cameBack) {
      const laterMs = comeBackMs[pace === undefined ? "unpaced" : "paced"];
      const moment = noRoom.has(reason) ? Math.max(dueAt, now + laterMs) : dueAt;
      hints.push({ id: call.id, moment });
    } else {
      const account = accountNameOf(route);
      const own = inTurn.get(account) ?? { pace, rows: [] };
      inTurn.set(account, own);
      const backlog = backlogOf({ client: call.client, agentId: call.request.agent_id });
      own.rows.push({ id: call.id, dueAt, backlog });
    }
  }
  const lost = (count: number) => (error: unknown) =>
    log("warning", "hints.lost", { count, error: errorForLog(error) });
  await hintSafely(hints, deps);
  for (const [account, { pace, rows: own }] of inTurn) {
    await callUpFirst(account, pace, own, deps).catch(lost(own.length));
  }
}

/** Sends hints; where the queue does not take them, a sweep finds the rows. */
export async function hintSafely(rows: readonly CalledUp[], deps: ReadyDeps): Promise<void> {
  if (rows.length === 0) return;
  const ordered = rows.toSorted((a, b) => a.moment - b.moment);
  await sendHints(ordered, deps).catch((error: unknown) => {
    deps.log("warning", "hints.lost", { count: rows.length, error: errorForLog(error) });
  });
}
