import type { CallRow } from "../../../shared/calls/call-row.ts";
import { accountOf, routeOf } from "../../../shared/dial-plan/routes.ts";
import type { DocumentsRead } from "../../../shared/documents/documents.ts";
import { accountNameOf } from "../../../shared/providers/index.ts";
import type { DialerDeps } from "../context.ts";
import { nextPermitAt } from "../delivery/permits.ts";
import { hintSafely } from "./call-up-soon.ts";

/** Horizon of repeated hints: a sweep calls up rows further ahead. */
const hintedMs = 75_000;

/**
 * Sends another hint for called-up rows that arrived before their account had a permit for them, timed for
 * that permit. Rows beyond 75 s are dropped, as a sweep calls them up again.
 */
export async function hintAgain(
  left: readonly { row: CallRow; because: string }[],
  read: DocumentsRead,
  deps: DialerDeps,
): Promise<void> {
  const { settings, clock, log } = deps;
  const now = clock.now();
  const hinted = new Map<string, number>();
  const rows = left.flatMap(({ row, because }) => {
    const route = routeOf(row.agentId, settings.plan);
    if (because === "route_gone") log("alarm", "route.gone", { call_id: row.id });
    const pace = route && accountOf(route, settings.plan).pace;
    if (because !== "pace" || route === undefined || pace === undefined) return [];
    const account = accountNameOf(route);
    const others = hinted.get(account) ?? 0;
    hinted.set(account, others + 1);
    const moment = nextPermitAt(account, pace, read, now, others);
    return moment > now + hintedMs ? [] : { id: row.id, moment };
  });
  if (rows.length > 0) await hintSafely(rows, deps);
}
